// One program, wanted by several processes that share a cache.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>

#include "program/cache/compile_lock.h"
#include "unit/program_compile/worker_fixture.h"

namespace esper::program::package_cache_shared_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

CompileOutcome take(Compiler& compiler, const std::string& key) {
  const auto outcome = compiler.wait(key, test::kLongPatience);
  REQUIRE(outcome);
  INFO(outcome->reason);
  return *outcome;
}

// Its compilation notes that it began, and goes on once there is a file `go`.
CompileRequest noting(const Service& service) {
  auto request = Service::request(0);
  const std::string folder = service.folder.path();
  request.source = fmt::format(
      "import os, time\nopen('{0}/began', 'a').write('x')\nwhile not os.path.exists('{0}/go'): time.sleep(0.05)\n{1}",
      folder, request.source);
  return request;
}

std::optional<CompileLock> lock_of(const Service& service, const std::string& key, CompileRank rank) {
  const std::string cache = service.folder / "programs";
  if (std::filesystem::create_directory(cache)) std::filesystem::permissions(cache, std::filesystem::perms::owner_all);
  return CompileLock::try_take(cache, key, rank);
}

}  // namespace

TEST_CASE("of those who want one program at once one compiles it, and the others wait for its package") {
  Service service;
  const auto request = noting(service);
  auto& first = service.start();
  first.submit(request);
  REQUIRE(comes_to([&] { return std::filesystem::exists(service.folder / "began"); }));
  PackageCache cache(storage::real_file_system(),
                     {.folder = service.folder / "programs", .mac_key = user_key().value()});
  Compiler second(service.settings, cache);
  second.submit(request);
  REQUIRE(comes_to([&] { return second.stage() == CompileStage::kOtherProcess; }));
  std::ofstream(service.folder / "go");

  const auto made = take(first, request.key), waited = take(second, request.key);
  CHECK_FALSE(made.failure);
  CHECK_FALSE(waited.failure);
  CHECK_FALSE(made.by_other_process);
  CHECK(waited.by_other_process);
  CHECK(waited.compile_ms == made.compile_ms);
  CHECK(worker_groups().size() == 1);  // the second one's did not even start
  CHECK(std::filesystem::file_size(service.folder / "began") == 1);
  CHECK(cache.find(request.key));
  CHECK(std::filesystem::is_empty(service.folder / "programs/compiling"));
}

TEST_CASE("where the process that compiles is killed, one that waits takes over") {
  Service service;
  const auto request = Service::request(0);
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = lock_of(service, request.key, CompileRank::kFull);
    if (!lock || ::write(ends[1], "x", 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  REQUIRE(::read(ends[0], &byte, 1) == 1);
  auto& compiler = service.start();
  compiler.submit(request);
  REQUIRE(comes_to([&] { return compiler.stage() == CompileStage::kOtherProcess; }));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto outcome = take(compiler, request.key);
  CHECK_FALSE(outcome.failure);
  CHECK_FALSE(outcome.by_other_process);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("waiting for another process has a deadline, and can be cancelled") {
  Service service;
  service.settings.start_deadline = milliseconds(150);  // of the other process's worker, which comes first
  service.settings.wall_deadline = milliseconds(50);
  const auto request = Service::request(0);
  const auto lock = lock_of(service, request.key, CompileRank::kFull);
  REQUIRE(lock);
  service.start().submit(request);
  const auto late = take(*service.compiler, request.key);
  CHECK(late.failure == CompileFailure::kTimeout);
  CHECK(late.reason == "another process has been compiling the program for 200ms");

  service.settings.wall_deadline = seconds(1000);
  service.start().submit(request);
  REQUIRE(comes_to([&] { return service.compiler->stage() == CompileStage::kOtherProcess; }));
  service.compiler->cancel(request.key);
  CHECK(take(*service.compiler, request.key).failure == CompileFailure::kCancelled);
  CHECK(worker_groups().empty());
}

TEST_CASE("a package in full effort serves whoever wanted a quick one, not the other way round") {
  Service service;
  auto request = Service::request(0);
  auto& compiler = service.start();
  for (const auto& [effort, elsewhere] :
       {std::pair(CompileEffort::kQuick, false), std::pair(CompileEffort::kFull, false),
        std::pair(CompileEffort::kQuick, true), std::pair(CompileEffort::kFull, true)}) {
    request.effort = effort;
    compiler.submit(request);
    const auto outcome = take(compiler, request.key);
    CHECK_FALSE(outcome.failure);
    CHECK(outcome.by_other_process == elsewhere);
  }
}

TEST_CASE("a quick package that is done after one in full effort does not replace it") {
  Service service;
  const auto quick = noting(service);
  auto full = Service::request(0);
  full.effort = CompileEffort::kFull;
  service.settings.priority = WorkerPriority::kBackground;
  auto& background = service.start();
  background.submit(quick);
  REQUIRE(comes_to([&] { return std::filesystem::exists(service.folder / "began"); }));
  auto settings = service.settings;
  settings.priority = WorkerPriority::kNormal;
  PackageCache cache(storage::real_file_system(),
                     {.folder = service.folder / "programs", .mac_key = user_key().value()});
  Compiler foreground(settings, cache);
  foreground.submit(full);
  const auto made = take(foreground, full.key);
  CHECK_FALSE(made.failure);
  CHECK_FALSE(made.by_other_process);
  std::ofstream(service.folder / "go");

  const auto late = take(background, quick.key);
  CHECK_FALSE(late.failure);
  CHECK(late.by_other_process);
  CHECK(late.compile_ms == made.compile_ms);
  const auto facts = cache.facts(quick.key);
  REQUIRE(facts);
  CHECK(facts->effort == "full");
}

TEST_CASE("who compiles waits for its own rank and higher ones; the last one leaves no file") {
  const test::TemporaryFolder folder;
  const auto take_rank = [&](CompileRank rank) { return CompileLock::try_take(folder.path(), "key", rank); };
  {
    const auto middle = take_rank(CompileRank::kFullBackground);
    REQUIRE(middle);
    CHECK_FALSE(take_rank(CompileRank::kFullBackground));
    CHECK_FALSE(take_rank(CompileRank::kQuickBackground));
    CHECK(CompileLock::try_take(folder.path(), "another key", CompileRank::kQuickBackground));
    const auto higher = take_rank(CompileRank::kFull);
    CHECK(higher);
    CHECK_FALSE(take_rank(CompileRank::kQuick));
  }
  CHECK(std::filesystem::is_empty(folder / "compiling"));
  CHECK(take_rank(CompileRank::kQuickBackground));
}

TEST_CASE("a lock file that is a link, or no file, is an error") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "target");
  std::filesystem::create_directory(folder / "compiling");
  std::filesystem::create_symlink(folder / "target", folder / "compiling/link");
  CHECK_THROWS_AS(CompileLock::try_take(folder.path(), "link", CompileRank::kFull), base::IoError);
  REQUIRE(::mkfifo((folder / "compiling/pipe").c_str(), 0600) == 0);
  CHECK_THROWS_AS(CompileLock::try_take(folder.path(), "pipe", CompileRank::kFull), base::IoError);
}

}  // namespace esper::program::package_cache_shared_test
