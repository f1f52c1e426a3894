#include "storage/real_file_system.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "storage/bytes.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"
#include "support/faults/interrupted_sync.h"
#include "support/temporary_folder.h"

namespace esper::test::real_file_system_test {

using namespace esper::storage;
using esper::base::IoError;
using esper::base::OpenMode;
using esper::base::PathKind;
using esper::test::TemporaryFolder;

namespace {

int error_number_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const IoError& error) {
    return error.error_number();
  }
  return 0;
}

std::string read_text(const std::string& path) {
  const auto bytes = read_file(real_file_system(), path, 1 << 20);
  return std::string(text_of(bytes));
}

void ignore_signal(int) {}

// A signal every millisecond, without restarting interrupted calls, for as long as it lives.
class SignalStorm {
 public:
  SignalStorm() {
    struct sigaction action{};
    action.sa_handler = ignore_signal;
    ::sigaction(SIGALRM, &action, &before_);
    const itimerval every{{0, 1000}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
  }
  ~SignalStorm() {
    const itimerval off{};
    ::setitimer(ITIMER_REAL, &off, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_{};
};

}  // namespace

TEST_CASE("files are written, appended to, cut and read in parts") {
  TemporaryFolder folder;
  auto& files = real_file_system();
  const std::string path = folder / "file";
  files.open(path, OpenMode::kReplace).write(bytes_of("hello"));
  files.open(path, OpenMode::kAppend).write(bytes_of(" world"));
  CHECK(read_text(path) == "hello world");
  auto file = files.open(path, OpenMode::kRead);
  CHECK(file.size() == 11);
  std::array<std::byte, 8> part;
  CHECK(file.read_at(6, part) == 5);
  CHECK(text_of(Bytes(part).first(5)) == "world");
  auto appended = files.open(path, OpenMode::kAppend);
  appended.truncate(5);
  appended.write(bytes_of("!"));
  appended.sync();
  appended.close();
  CHECK(read_text(path) == "hello!");
  files.open(path, OpenMode::kReplace);
  CHECK(read_text(path).empty());
}

TEST_CASE("folders are listed by name, with links as links") {
  TemporaryFolder folder;
  auto& files = real_file_system();
  files.make_folder(folder / "b");
  files.open(folder / "c", OpenMode::kReplace);
  REQUIRE(::symlink((folder / "b").c_str(), (folder / "a").c_str()) == 0);
  const auto entries = files.list(folder.path());
  REQUIRE(entries.size() == 3);
  CHECK((entries[0].name == "a" && entries[0].kind == PathKind::kOther));
  CHECK((entries[1].name == "b" && entries[1].kind == PathKind::kFolder));
  CHECK((entries[2].name == "c" && entries[2].kind == PathKind::kFile));
  CHECK(files.kind_of(folder / "a") == PathKind::kFolder);
  CHECK(files.kind_of(folder / "none") == PathKind::kNothing);
  CHECK(files.kind_of(folder / std::string(300, 'n')) == PathKind::kNothing);  // no file system holds such a name
  files.sync_folder(folder.path());
  CHECK(files.free_bytes(folder.path()) > 0);
}

TEST_CASE("failures name errno and path") {
  TemporaryFolder folder;
  auto& files = real_file_system();
  const std::string missing = folder / "none/file";
  try {
    files.open(missing, OpenMode::kReplace);
    FAIL("opened");
  } catch (const IoError& error) {
    CHECK(error.error_number() == ENOENT);
    CHECK(error.path() == missing);
    CHECK(std::string(error.what()).find(missing) != std::string::npos);
    CHECK_FALSE(error.out_of_space());
  }
  files.make_folder(folder / "full");
  files.open(folder / "full/x", OpenMode::kReplace);
  files.make_folder(folder / "other");
  CHECK(error_number_of([&] { files.make_folder(folder / "full"); }) == EEXIST);
  CHECK(error_number_of([&] { files.remove(folder / "full"); }) == ENOTEMPTY);
  CHECK(error_number_of([&] { files.rename(folder / "other", folder / "full"); }) == ENOTEMPTY);
  CHECK(error_number_of([&] { files.list(folder / "none"); }) == ENOENT);
}

TEST_CASE("only regular files are opened for reading, and nothing waits for a pipe") {
  TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(error_number_of([&] { real_file_system().open(pipe, OpenMode::kRead); }) == EINVAL);
  CHECK(error_number_of([&] { real_file_system().open(folder.path(), OpenMode::kRead); }) == EISDIR);
}

TEST_CASE("a full device is told apart from other failures") {
  auto file = real_file_system().open("/dev/full", OpenMode::kAppend);
  try {
    file.write(bytes_of("x"));
    FAIL("written");
  } catch (const IoError& error) {
    CHECK(error.out_of_space());
    CHECK(std::string(error.what()).find("/dev/full") != std::string::npos);
  }
}

TEST_CASE(
    "a sync that a signal interrupts has failed: a second one could succeed without what the first had to write") {
  TemporaryFolder folder;
  ConfinedFileSystem confined(folder.path(), Owner::kThisUser);
  for (base::FileSystem* files : {&real_file_system(), static_cast<base::FileSystem*>(&confined)}) {
    ensure_folder(*files, folder / "inner");
    auto file = files->open(folder / "inner/file", OpenMode::kAppend);
    file.write(bytes_of("x"));
    interrupt_next_sync();
    CHECK(error_number_of([&] { file.sync(); }) == EINTR);
    interrupt_next_sync();
    CHECK(error_number_of([&] { files->sync_folder(folder / "inner"); }) == EINTR);
    CHECK(error_number_of([&] { file.sync(); }) == 0);
  }
}

TEST_CASE("interrupted and short writes are completed") {
  TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  auto file = real_file_system().open(pipe, OpenMode::kAppend);
  REQUIRE(::fcntl(reader, F_SETFL, 0) == 0);  // the writer is there: reading may wait for it now
  std::string sent(2 << 20, ' ');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 + i / 251);
  std::string received;
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  ::pthread_sigmask(SIG_BLOCK, &alarm, nullptr);  // the reader inherits this: signals hit the writer only
  std::thread slow_reader([&] {
    std::array<char, 20'000> buffer;
    for (;;) {
      const auto got = ::read(reader, buffer.data(), buffer.size());
      if (got <= 0) break;
      received.append(buffer.data(), static_cast<std::size_t>(got));
      ::usleep(300);
    }
  });
  ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
  {
    SignalStorm storm;
    file.write(bytes_of(sent));
    file.close();
  }
  slow_reader.join();
  ::close(reader);
  CHECK(received == sent);
}

}  // namespace esper::test::real_file_system_test
