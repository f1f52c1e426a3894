#include "storage/folder_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <thread>

#include "storage/beneath.h"
#include "storage/real_file_system.h"
#include "support/faults/faulty_file_system.h"
#include "support/temporary_folder.h"

namespace esper::test::folder_lock_test {

using namespace esper::storage;
using esper::test::FaultyFileSystem;
using esper::test::TemporaryFolder;

namespace {

FolderUse use_of(const TemporaryFolder& folder) {
  const base::Descriptor opened(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder_use(opened, folder.path());
}

}  // namespace

TEST_CASE("a second holder in the same process is refused until the first lets go") {
  TemporaryFolder folder;
  auto first = try_lock_folder(real_file_system(), folder.path());
  REQUIRE(first.lock);
  const auto second = try_lock_folder(real_file_system(), folder.path());
  CHECK_FALSE(second.lock);
  CHECK(second.holder.starts_with("process " + std::to_string(::getpid()) + " on "));
  first.lock.reset();
  CHECK(try_lock_folder(real_file_system(), folder.path()).lock);
}

TEST_CASE("the lock of another process is seen, and ends when that process is killed") {
  TemporaryFolder folder;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto attempt = try_lock_folder(real_file_system(), folder.path());
    const char answer = attempt.lock ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  pollfd wait{ready[0], POLLIN, 0};
  REQUIRE(::poll(&wait, 1, 10'000) == 1);
  char answer = 'n';
  REQUIRE(::read(ready[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  const auto refused = try_lock_folder(real_file_system(), folder.path());
  CHECK_FALSE(refused.lock);
  CHECK(refused.holder.starts_with("process " + std::to_string(child)));
  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(try_lock_folder(real_file_system(), folder.path()).lock);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("whether a folder is in use is seen without taking its lock, and a link in its place is refused") {
  const TemporaryFolder folder;
  CHECK(use_of(folder) == FolderUse::kFree);
  CHECK_FALSE(std::filesystem::exists(folder / "lock"));
  auto held = try_lock_folder(real_file_system(), folder.path());
  CHECK(use_of(folder) == FolderUse::kHeld);
  held.lock.reset();
  CHECK(use_of(folder) == FolderUse::kFree);
  std::filesystem::remove(folder / "lock");
  std::filesystem::create_symlink("/dev/null", folder / "lock");
  CHECK_THROWS_AS(use_of(folder), UnsafePath);
}

TEST_CASE("a process that only looks keeps no other one from taking the lock") {
  const TemporaryFolder folder;
  try_lock_folder(real_file_system(), folder.path());
  const std::jthread looker([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) use_of(folder);
  });
  for (int i = 0; i < 1000; ++i) REQUIRE(try_lock_folder(real_file_system(), folder.path()).lock);
}

TEST_CASE("a full disk does not keep a run from its folder") {
  FaultyFileSystem files;
  files.limit_bytes(0);
  CHECK(try_lock_folder(files, ".").lock);
  const auto first = try_lock_folder(files, ".");
  CHECK(first.lock);
  CHECK(try_lock_folder(files, ".").holder == "another process");
}

}  // namespace esper::test::folder_lock_test
