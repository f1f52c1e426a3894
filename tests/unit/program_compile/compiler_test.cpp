#include "program/compile/compiler.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>

#include "storage/confined_file_system.h"
#include "unit/program_compile/worker_fixture.h"

namespace esper::program {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

CompileOutcome outcome_of(Compiler& compiler, const CompileRequest& request) {
  compiler.submit(request);
  auto outcome = compiler.wait(request.key, seconds(200));
  REQUIRE(outcome);
  return *outcome;
}

// Until the group has more members than the worker itself: its job, and what that started.
bool comes_to(const std::function<bool()>& condition, leyline::Duration deadline) {
  const leyline::Clock clock;
  const auto end = clock.now() + deadline;
  while (!condition()) {
    if (clock.now() > end) return false;
    clock.sleep(milliseconds(10));
  }
  return true;
}

// A compiler that tells in a file that it was called, and then hangs.
std::string hanging_compiler(Service& service) {
  return service.script("g++", "case \"$1\" in --version) echo g++ 12;; -dumpversion) echo 12;; *) echo $$ >> " +
                                   service.folder.path() + "/called; sleep 300;; esac");
}

}  // namespace

TEST_CASE("a program is compiled, cached and found; a wrong one fails with the reason; the worker stays") {
  Service service;
  // What a killed worker left, and what one of another process is at.
  const std::string jobs = service.folder / "programs/worker/jobs";
  for (const char* name : {"/left-1", "/held-1"}) std::filesystem::create_directories(jobs + name + "/inside");
  const leyline::Descriptor held(::open((jobs + "/held-1").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(held.number(), LOCK_EX) == 0);
  auto& compiler = service.start();
  CHECK(compiler.worker_group() == 0);  // nothing before the first submit
  CHECK_FALSE(compiler.wait("nothing of this key", seconds(10)));

  auto wrong = Service::request(0);
  wrong.source += "    return undefined_name\ndef step(a0, a1):\n    return (a0 + undefined_name,)\n";
  const auto failed = outcome_of(compiler, wrong);
  CHECK(failed.failure == CompileFailure::kFailed);
  CHECK(failed.reason.find("undefined_name") != std::string::npos);
  const pid_t group = compiler.worker_group();

  const auto request = Service::request(1);
  const auto outcome = outcome_of(compiler, request);
  INFO(outcome.reason);
  REQUIRE_FALSE(outcome.failure);
  CHECK(outcome.compile_ms > 0);
  CHECK(compiler.worker_group() == group);
  const auto found = service.cache.find(request.key);
  REQUIRE(found);
  CHECK(found->bytes > 1000);
  CHECK(found->facts.recipe == "default");
  CHECK(found->facts.torch_version.find("2.") == 0);
  CHECK(std::filesystem::exists(jobs + "/held-1/inside"));
  CHECK_FALSE(std::filesystem::exists(jobs + "/left-1"));
  service.compiler.reset();
  CHECK(group_is_gone(group, seconds(1)));
}

TEST_CASE("without Python every request is refused at once") {
  Service service;
  service.settings.python = GENERATE(std::string(), std::string("/nowhere/python"), std::string("/etc/passwd"));
  auto& compiler = service.start();
  for (int n = 0; n < 2; ++n) CHECK(outcome_of(compiler, Service::request(n)).failure == CompileFailure::kNoPython);
  CHECK(compiler.restarts() == 0);
}

TEST_CASE("a worker that cannot compile is refused for what it lacks, before anything is compiled") {
  struct Lack {
    const char* python;  // a script instead of it
    const char* cxx;
    const char* torch;
    CompileFailure failure;
    const char* word;  // in the reason
  };
  const auto lack = GENERATE(values<Lack>({
      {"echo nonsense", "", "", CompileFailure::kNoPython, "does not run the compile worker"},
      {nullptr, "/nowhere/g++", "", CompileFailure::kNoCompiler, "/nowhere/g++"},
      {nullptr, "", "1.0.0", CompileFailure::kWrongTorch, "this program runs 1.0.0"},
  }));
  Service service;
  if (lack.python != nullptr) service.settings.python = service.script("python", lack.python);
  service.settings.cxx = lack.cxx;
  service.settings.torch_version = lack.torch;
  const auto outcome = outcome_of(service.start(), Service::request(0));
  CHECK(outcome.failure == lack.failure);
  INFO(outcome.reason);
  CHECK(outcome.reason.find(lack.word) != std::string::npos);
}

TEST_CASE("a worker's folder that leads elsewhere is refused, and what lies there is left") {
  Service service;
  const std::string programs = service.folder / "programs", elsewhere = service.folder / "elsewhere";
  std::filesystem::create_directories(elsewhere + "/jobs/precious");
  std::filesystem::create_directories(programs);
  std::string link = programs + "/worker";
  SECTION("the folder itself") { std::filesystem::create_directory_symlink(elsewhere, link); }
  SECTION("that of its jobs") {
    std::filesystem::create_directory(link);
    std::filesystem::permissions(link, std::filesystem::perms::owner_all);
    link += "/jobs";
    std::filesystem::create_directory_symlink(elsewhere + "/jobs", link);
  }
  storage::ConfinedFileSystem files(programs, storage::Owner::kThisUser);
  PackageCache cache(files, {programs});
  Compiler compiler(service.settings, cache);
  const auto outcome = outcome_of(compiler, Service::request(0));
  INFO(outcome.reason);
  CHECK(outcome.failure == CompileFailure::kCacheRefused);
  CHECK(outcome.reason.find(link) != std::string::npos);
  CHECK(outcome.reason.find("--cache-dir") != std::string::npos);
  CHECK(std::filesystem::exists(elsewhere + "/jobs/precious"));
}

TEST_CASE("what earlier compilations kept is used only with this user's code") {
  Service service;
  service.settings.headers_dir = service.folder / "headers";
  REQUIRE_FALSE(outcome_of(service.start(), Service::request(0)).failure);
  service.compiler.reset();
  std::vector<std::string> planted;
  for (const auto& kept : std::filesystem::recursive_directory_iterator(service.settings.headers_dir)) {
    if (kept.path().extension() == ".o") planted.push_back(kept.path());
  }
  REQUIRE_FALSE(planted.empty());
  for (const auto& path : planted) std::ofstream(path) << "native code from elsewhere";
  const auto outcome = outcome_of(service.start(), Service::request(1));
  INFO(outcome.reason);
  CHECK_FALSE(outcome.failure);
  CHECK(outcome.not_used == planted);
  service.compiler.reset();
  CHECK(outcome_of(service.start(), Service::request(2)).not_used.empty());
}

TEST_CASE("an empty PATH has no C++ compiler") {
  const std::string path = std::getenv("PATH");
  Service service;
  ::setenv("PATH", service.folder.path().c_str(), 1);
  const auto outcome = outcome_of(service.start(), Service::request(0));
  ::setenv("PATH", path.c_str(), 1);
  CHECK(outcome.failure == CompileFailure::kNoCompiler);
}

TEST_CASE("what a compilation prints, and what it reads, is not taken for the protocol") {
  Service service;
  auto request = Service::request(0);
  request.source +=
      "import os\nos.write(1, b'{\"job\": 1, \"package\": \"/nowhere\"}\\n')\nos.system('echo noise; cat')\n";
  const auto outcome = outcome_of(service.start(), request);
  INFO(outcome.reason);
  CHECK_FALSE(outcome.failure);
}

TEST_CASE("a compiler that fails is a failure with its words") {
  Service service;
  service.settings.cxx = service.script(
      "g++", "case \"$1\" in --version|-dumpversion) echo 12;; *) echo the compiler is out of order; exit 1;; esac");
  const auto outcome = outcome_of(service.start(), Service::request(0));
  CHECK(outcome.failure == CompileFailure::kFailed);
  CHECK(outcome.reason.find("out of order") != std::string::npos);
}

TEST_CASE("a compiler that hangs: deadline, cancel, memory limit, a killed worker") {
  Service service;
  service.settings.cxx = hanging_compiler(service);
  service.settings.deadline = seconds(4);
  service.settings.max_restarts = 2;
  auto& compiler = service.start();
  const std::string called = service.folder / "called";
  const auto is_called = [&] { return std::filesystem::exists(called); };

  SECTION("the deadline stops the job and not the worker") {
    const auto outcome = outcome_of(compiler, Service::request(0));
    CHECK(outcome.failure == CompileFailure::kTimeout);
    CHECK(is_called());
    const pid_t group = compiler.worker_group();
    REQUIRE(group > 0);

    // cancel, in the same worker
    std::filesystem::remove(called);
    const auto running = Service::request(1), waiting = Service::request(2);
    compiler.submit(running);
    compiler.submit(waiting);
    CHECK(compiler.pending() == 2);
    CHECK(comes_to(is_called, seconds(120)));
    compiler.cancel(waiting.key);
    compiler.cancel(running.key);
    for (const auto& key : {waiting.key, running.key}) {
      const auto cancelled = compiler.wait(key, seconds(3));
      REQUIRE(cancelled);
      CHECK(cancelled->failure == CompileFailure::kCancelled);
    }
    CHECK(compiler.worker_group() == group);

    // destroyed in the middle of a job
    std::filesystem::remove(called);
    compiler.submit(Service::request(3));
    CHECK(comes_to(is_called, seconds(120)));
    const leyline::Clock clock;
    const auto before = clock.now();
    service.compiler.reset();
    CHECK(clock.now() - before < seconds(1));
    CHECK(group_is_gone(group, seconds(1)));
    CHECK(std::filesystem::is_empty(service.folder / "programs/worker/jobs"));
  }

  SECTION("a worker killed in the middle of a job is restarted, and the job tried again") {
    const auto request = Service::request(0);
    compiler.submit(request);
    REQUIRE(comes_to(is_called, seconds(120)));
    const pid_t first = compiler.worker_group();
    ::kill(first, SIGKILL);
    CHECK(group_is_gone(first, seconds(1)));
    std::filesystem::remove(called);
    REQUIRE(comes_to(is_called, seconds(120)));
    const pid_t second = compiler.worker_group();
    CHECK(second != first);
    ::kill(second, SIGKILL);
    const auto outcome = compiler.wait(request.key, seconds(10));
    REQUIRE(outcome);
    CHECK(outcome->failure == CompileFailure::kCrashed);
    CHECK(compiler.restarts() == 2);
  }
}

TEST_CASE("a job over its memory limit is stopped") {
  Service service;
  service.settings.memory_limit_mb = 100;
  auto request = Service::request(0);
  request.source +=
      "hoard = bytearray(300 << 20)\nhoard[::4096] = bytes(len(hoard[::4096]))\nimport time; time.sleep(60)\n";
  const auto outcome = outcome_of(service.start(), request);
  CHECK(outcome.failure == CompileFailure::kOutOfMemory);
}

TEST_CASE("nothing is left two seconds after the training process was killed") {
  Service service;
  service.settings.cxx = hanging_compiler(service);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    service.start().submit(Service::request(0));
    comes_to([&] { return std::filesystem::exists(service.folder / "called"); }, seconds(60));
    const pid_t group = service.compiler->worker_group();
    if (::write(ends[1], &group, sizeof group) < 0) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  pid_t group = 0;
  REQUIRE(::read(ends[0], &group, sizeof group) == sizeof group);
  REQUIRE(group > 0);
  CHECK(group_has_members(group));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(group_is_gone(group, seconds(2)));
  for (const auto& left : std::filesystem::recursive_directory_iterator(service.folder / "programs/worker/jobs")) {
    UNSCOPED_INFO("left: " << left.path().string());
  }
  CHECK(std::filesystem::is_empty(service.folder / "programs/worker/jobs"));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("nothing is left after a kill while the worker is still importing torch") {
  Service service;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    service.start().submit(Service::request(0));
    comes_to([&] { return service.compiler->worker_group() != 0; }, seconds(10));
    leyline::Clock().sleep(milliseconds(300));
    const pid_t group = service.compiler->worker_group();
    if (::write(ends[1], &group, sizeof group) < 0) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  pid_t group = 0;
  REQUIRE(::read(ends[0], &group, sizeof group) == sizeof group);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(group_is_gone(group, seconds(2)));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace esper::program
