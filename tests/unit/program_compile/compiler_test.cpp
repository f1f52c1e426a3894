#include "program/compile/compiler.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "base/error.h"
#include "storage/confined_file_system.h"
#include "support/child_end.h"
#include "support/environment_variable.h"
#include "support/faults/faulty_file_system.h"
#include "unit/program_compile/worker_fixture.h"

namespace esper::program::compiler_test {
namespace {

using std::chrono::seconds;

CompileOutcome outcome_of(Compiler& compiler, const CompileRequest& request) {
  compiler.submit(request);
  auto outcome = compiler.wait(request.key, test::kLongPatience);
  REQUIRE(outcome);
  return *outcome;
}

pid_t the_worker() {
  const auto groups = worker_groups();
  REQUIRE(groups.size() == 1);
  return groups[0];
}

// Whether the worker is at its import of torch: it has loaded torch's library for Python.
bool worker_maps_torch() {
  for (const pid_t worker : worker_groups()) {
    std::ifstream maps("/proc/" + std::to_string(worker) + "/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("libtorch_python") != std::string::npos) return true;
    }
  }
  return false;
}

// A compiler that tells in a file that it was called, and then hangs.
std::string hanging_compiler(Service& service) {
  return service.script("g++", "case \"$1\" in --version) echo g++ 12;; -dumpversion) echo 12;; *) echo $$ >> " +
                                   service.folder.path() + "/called; sleep 3000;; esac");
}

}  // namespace

TEST_CASE("a program is compiled, cached and found; a wrong one fails with the reason; the worker stays") {
  Service service;
  // What a killed worker left, and what one of another process is at.
  const std::string jobs = service.folder / "programs/worker/jobs";
  for (const char* name : {"/left-1", "/held-1"}) std::filesystem::create_directories(jobs + name + "/inside");
  const base::Descriptor held(::open((jobs + "/held-1").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(held.number(), LOCK_EX) == 0);
  auto& compiler = service.start();
  CHECK(worker_groups().empty());  // nothing before the first submit
  CHECK_FALSE(compiler.wait("nothing of this key", seconds(10)));

  auto wrong = Service::request(0);
  wrong.source += "    return undefined_name\ndef step(a0, a1):\n    return (a0 + undefined_name,)\n";
  const auto failed = outcome_of(compiler, wrong);
  CHECK(failed.failure == CompileFailure::kFailed);
  CHECK(failed.reason.find("undefined_name") != std::string::npos);
  const pid_t group = the_worker();

  const auto request = Service::request(1);
  const auto outcome = outcome_of(compiler, request);
  INFO(outcome.reason);
  REQUIRE_FALSE(outcome.failure);
  CHECK(outcome.compile_ms > 0);
  CHECK(the_worker() == group);
  const auto found = service.cache.find(request.key);
  REQUIRE(found);
  CHECK(found->bytes > 1000);
  CHECK(found->facts.recipe == "default");
  CHECK(found->facts.torch_version.find("2.") == 0);
  CHECK(std::filesystem::exists(jobs + "/held-1/inside"));
  CHECK_FALSE(std::filesystem::exists(jobs + "/left-1"));
  service.compiler.reset();
  CHECK(group_is_gone(group));
}

TEST_CASE("without Python every request is refused at once") {
  Service service;
  service.settings.python = GENERATE(std::string(), std::string("/nowhere/python"), std::string("/etc/passwd"));
  auto& compiler = service.start();
  for (int n = 0; n < 2; ++n) CHECK(outcome_of(compiler, Service::request(n)).failure == CompileFailure::kNoPython);
  CHECK(worker_groups().empty());
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
      {"echo nonsense", "", "", CompileFailure::kNoPython, "cannot run the compile worker"},
      {nullptr, "/nowhere/g++", "", CompileFailure::kNoCompiler, "/nowhere/g++"},
      {nullptr, "", "1.0.0", CompileFailure::kWrongTorch, "Esper uses 1.0.0"},
  }));
  Service service;
  if (lack.python != nullptr) service.settings.python = service.script("python", lack.python);
  const test::EnvironmentVariable cxx("CXX", lack.cxx);
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
  REQUIRE_FALSE(outcome_of(service.start(), Service::request(0)).failure);  // keeps an object file, or finds it kept
  service.compiler.reset();
  service.settings.headers_dir = service.folder / "headers";
  test::copy_kept_files(shared_headers(), service.settings.headers_dir);
  std::vector<std::string> planted;  // in the place of that one, and of those of other programs
  for (const auto& kept : std::filesystem::recursive_directory_iterator(service.settings.headers_dir)) {
    if (kept.path().extension() == ".o") planted.push_back(kept.path());
  }
  for (const auto& path : planted) std::ofstream(path) << "native code from elsewhere";
  const auto outcome = outcome_of(service.start(), Service::request(1));
  INFO(outcome.reason);
  CHECK_FALSE(outcome.failure);
  REQUIRE(outcome.not_used.size() == 1);
  CHECK(std::ranges::find(planted, outcome.not_used.front()) != planted.end());
  service.compiler.reset();
  CHECK(outcome_of(service.start(), Service::request(2)).not_used.empty());
}

TEST_CASE("an empty PATH has no C++ compiler") {
  Service service;
  const test::EnvironmentVariable path("PATH", service.folder.path());
  const auto outcome = outcome_of(service.start(), Service::request(0));
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
  const std::string broken = service.script(
      "g++", "case \"$1\" in --version|-dumpversion) echo 12;; *) echo the compiler is out of order; exit 1;; esac");
  const test::EnvironmentVariable cxx("CXX", broken);
  const auto outcome = outcome_of(service.start(), Service::request(0));
  CHECK(outcome.failure == CompileFailure::kFailed);
  CHECK(outcome.reason.find("out of order") != std::string::npos);
}

TEST_CASE("a compiler that hangs: cancelling, the end of the compiler, a killed worker") {
  Service service;
  const test::EnvironmentVariable cxx("CXX", hanging_compiler(service));
  service.settings.max_restarts = 2;
  auto& compiler = service.start();
  const std::string called = service.folder / "called";
  const auto is_called = [&] { return std::filesystem::exists(called); };

  SECTION("cancelling stops the job and not the worker, the end of the compiler both") {
    CHECK(outcome_of(compiler, Service::failing(0, "the worker is there")).failure == CompileFailure::kFailed);
    const pid_t group = the_worker();

    const auto running = Service::request(1), waiting = Service::request(2);
    compiler.submit(running);
    compiler.submit(waiting);
    CHECK(compiler.pending() == 2);
    CHECK(comes_to(is_called));
    compiler.cancel(waiting.key);
    compiler.cancel(running.key);
    for (const auto& key : {waiting.key, running.key}) {
      const auto cancelled = compiler.wait(key, test::kPatience);
      REQUIRE(cancelled);
      CHECK(cancelled->failure == CompileFailure::kCancelled);
    }
    CHECK(the_worker() == group);

    // destroyed in the middle of a job
    std::filesystem::remove(called);
    compiler.submit(Service::request(3));
    CHECK(comes_to(is_called));
    service.compiler.reset();  // the job would take it an hour
    CHECK(group_is_gone(group));
    CHECK(std::filesystem::is_empty(service.folder / "programs/worker/jobs"));
  }

  SECTION("a worker killed in the middle of a job is restarted, and the job tried again") {
    const auto request = Service::request(0);
    compiler.submit(request);
    REQUIRE(comes_to(is_called));
    const pid_t first = the_worker();
    ::kill(first, SIGKILL);
    CHECK(group_is_gone(first));
    std::filesystem::remove(called);
    REQUIRE(comes_to(is_called));
    const pid_t second = the_worker();
    CHECK(second != first);
    ::kill(second, SIGKILL);
    const auto outcome = compiler.wait(request.key, test::kPatience);
    REQUIRE(outcome);
    CHECK(outcome->failure == CompileFailure::kCrashed);
    CHECK(outcome->reason.ends_with("twice at this program"));
  }
}

TEST_CASE(
    "where the compiler's thread hangs on a disk, the end of the compiler ends the process in time and says why") {
  const auto end = test::end_of_child([] {
    test::FaultyFileSystem files;
    PackageCache cache(files, {.folder = "/programs"});
    CompilerSettings settings;
    settings.end_deadline = std::chrono::milliseconds(50);
    Compiler compiler(settings, cache);
    files.hold_calls();
    compiler.submit(Service::request(0));
    comes_to([&] { return files.has_held_call(); });
  });
  REQUIRE(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == static_cast<int>(base::ExitCode::kTryAgain));
  CHECK(end.text.find("is the disk of the cache of compiled programs gone?") != std::string::npos);
}

TEST_CASE("a job's deadline counts processor time, by the clock it may take longer, and the reason says which it was") {
  Service service;
  service.settings.deadline = seconds(1);
  auto& compiler = service.start();
  auto slow = Service::failing(0, "nothing was stopped");
  slow.source = "import time\ntime.sleep(2)\n" + slow.source;  // as on a machine that is busy with something else
  CHECK(outcome_of(compiler, slow).reason.find("nothing was stopped") != std::string::npos);
  const pid_t worker = the_worker();

  auto busy = Service::failing(0, "nothing was stopped");
  busy.source = "while True: pass\n" + busy.source;
  const auto used_up = outcome_of(compiler, busy);
  CHECK(used_up.failure == CompileFailure::kTimeout);
  CHECK(used_up.reason == "it used more than 1 s of CPU time (step.compile.deadline)");

  // What it started counts too, as soon as it runs.
  auto child = Service::failing(0, "nothing was stopped");
  child.source = "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'while :; do :; done'])\n" + child.source;
  CHECK(outcome_of(compiler, child).reason == used_up.reason);

  CHECK(the_worker() == worker);

  service.settings.wall_deadline = seconds(3);
  auto hanging = Service::failing(0, "nothing was stopped");
  hanging.source = "import time\ntime.sleep(3000)\n" + hanging.source;
  const auto late = outcome_of(service.start(), hanging);
  CHECK(late.failure == CompileFailure::kTimeout);
  INFO(late.reason);
  CHECK(late.reason.starts_with("it was not finished after 3 s of wall time, having used 0."));
  CHECK(worker_groups().size() == 1);
}

namespace {

// A job that makes a file which is kept for all jobs of the machine, by this code at its place, and then fails.
CompileRequest keeping(const Service& service, const std::string& code) {
  auto request = Service::failing(0, "what was kept was made");
  const std::string folder = service.folder.path();
  request.source = "import os, time, job\nfolder = '" + folder + "'\ndef make(path):\n" + code +
                   "    open(path, 'w').close()\n" +
                   "place = job.build.folder + '/kept-' + os.path.basename(folder) + '/file'\n" +
                   "job.build.kept(place, make)\n" + request.source;
  request.key = cache_key({request.source, "", "", "", 1, "", ""});
  return request;
}

}  // namespace

TEST_CASE("what is made once on a machine does not count as the job's processor time") {
  Service service;
  service.settings.deadline = seconds(1);
  const auto request = keeping(service, "    while time.process_time() < 3: pass\n");
  CHECK(outcome_of(service.start(), request).reason.find("what was kept was made") != std::string::npos);
  CHECK(service.compiler->stage() == CompileStage::kIdle);
}

TEST_CASE("of several workers one makes what is kept for all of them, and the others wait for it") {
  Service service;
  Compiler other(service.settings, service.cache);
  // Whoever makes it waits for the others to come; they wait for what it makes.
  const std::string make =
      "    open(folder + '/made', 'a').write('x')\n"
      "    for _ in range(3000):\n"
      "        if len([name for name in os.listdir(folder) if name.startswith('came-')]) == 2: break\n"
      "        time.sleep(0.1)\n"
      "    time.sleep(0.5)\n";
  auto& compiler = service.start();
  std::vector<std::string> keys;
  for (Compiler* each : {&compiler, &other}) {
    auto request = keeping(service, make);
    const std::string came =
        "open('" + service.folder.path() + "/came-" + std::to_string(keys.size()) + "', 'w').close()\n";
    request.source = came + request.source;
    request.key = cache_key({request.source, "", "", "", 1, "", ""});
    keys.push_back(request.key);
    each->submit(request);
  }
  CHECK(comes_to([&] { return compiler.stage() == CompileStage::kHeaders; }));
  for (const auto& [each, key] : {std::pair(&compiler, keys[0]), std::pair(&other, keys[1])}) {
    const auto outcome = each->wait(key, test::kLongPatience);
    REQUIRE(outcome);
    INFO(outcome->reason);
    CHECK(outcome->reason.find("what was kept was made") != std::string::npos);
  }
  CHECK(std::filesystem::file_size(service.folder / "made") == 1);
}

TEST_CASE("a worker has this process's priority, or the lowest where training goes on beside it") {
  const auto priority = GENERATE(WorkerPriority::kNormal, WorkerPriority::kBackground);
  Service service;
  service.settings.priority = priority;
  service.start().submit(Service::failing(0, "done"));
  REQUIRE(comes_to([] { return !worker_groups().empty(); }));
  const int own = ::getpriority(PRIO_PROCESS, 0);
  const int expected = priority == WorkerPriority::kNormal ? own : 19;
  const auto worker = static_cast<id_t>(the_worker());
  CHECK(comes_to([&] { return ::getpriority(PRIO_PROCESS, worker) == expected; }));
  if (priority == WorkerPriority::kNormal) {  // for good
    REQUIRE(service.compiler->wait(Service::failing(0, "done").key, test::kLongPatience));
    CHECK(::getpriority(PRIO_PROCESS, worker) == own);
  }
}

TEST_CASE("a program is compiled under the settings of this process") {
  const bool deterministic = GENERATE(false, true);
  Service service;
  service.settings.numerics.deterministic = deterministic;
  auto request = Service::request(0);
  request.source += "raise RuntimeError(f'deterministic: {torch.are_deterministic_algorithms_enabled()}')\n";
  const auto outcome = outcome_of(service.start(), request);
  INFO(outcome.reason);
  CHECK(outcome.reason.find(deterministic ? "deterministic: True" : "deterministic: False") != std::string::npos);
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

namespace {

// The variable as the worker of this service gets it; nothing: it gets none.
std::optional<std::string> given_to_worker(Service& service, const std::string& variable) {
  const std::string seen = service.folder / "seen";
  service.settings.python = service.script("python", "env > " + seen + "; echo nonsense");
  CHECK(outcome_of(service.start(), Service::request(0)).failure == CompileFailure::kNoPython);
  std::ifstream file(seen);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(variable + "=")) return line.substr(variable.size() + 1);
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("a worker sees no card, the user's cards, or the one that its programs are for") {
  struct Cards {
    const char* device;
    int card;
    const char* users;  // nullptr: not set
    std::optional<std::string> expected;
  };
  const auto cards = GENERATE(values<Cards>({
      {"cpu", 0, "1,0", ""},
      {"cpu", 0, nullptr, ""},
      {"cuda", 0, "1,0", "1,0"},
      {"cuda", 0, nullptr, std::nullopt},
      {"cuda", 1, "2,GPU-5", "GPU-5"},
      {"cuda", 1, nullptr, "1"},
  }));
  const test::EnvironmentVariable users("CUDA_VISIBLE_DEVICES", cards.users == nullptr ? "" : cards.users);
  if (cards.users == nullptr) ::unsetenv("CUDA_VISIBLE_DEVICES");
  Service service;
  service.settings.device = cards.device;
  service.settings.card = cards.card;
  CHECK(given_to_worker(service, "CUDA_VISIBLE_DEVICES") == cards.expected);
}

TEST_CASE("each job for a card begins in a Python of its own; without a card it fails, and the worker stays") {
  const test::EnvironmentVariable none("CUDA_VISIBLE_DEVICES", "-1");
  Service service;
  service.settings.device = "cuda";
  service.settings.memory_limit_mb = 256;  // a Python with torch needs more, and that is not counted
  service.settings.deadline = std::chrono::milliseconds(100);
  auto& compiler = service.start();
  std::vector<pid_t> workers;
  for (int n = 0; n < 2; ++n) {
    const auto outcome = outcome_of(compiler, Service::request(n));
    INFO(outcome.reason);
    CHECK(outcome.failure == CompileFailure::kFailed);
    const auto has = [&](const char* word) { return outcome.reason.find(word) != std::string::npos; };
    CHECK((has("Found no NVIDIA driver") || has("No CUDA GPUs are available")));
    CHECK_FALSE(worker_maps_torch());
    workers.push_back(the_worker());
  }
  CHECK(workers[0] == workers[1]);
  CHECK(std::filesystem::is_empty(service.folder / "programs/worker/jobs"));
}

TEST_CASE("a job for a card is cancelled and limited by the clock like any other, and ends with the compiler") {
  Service service;
  const std::string called = service.folder / "called";
  const test::EnvironmentVariable cxx("CXX", service.script("g++", "echo $$ >> " + called + "; sleep 3000"));
  service.settings.device = "cuda";
  const auto is_called = [&] { return std::filesystem::exists(called); };

  auto& compiler = service.start();
  const auto cancelled = Service::request(0);
  compiler.submit(cancelled);
  REQUIRE(comes_to(is_called));
  const pid_t worker = the_worker();
  compiler.cancel(cancelled.key);
  const auto outcome = compiler.wait(cancelled.key, test::kPatience);
  REQUIRE(outcome);
  CHECK(outcome->failure == CompileFailure::kCancelled);
  CHECK(the_worker() == worker);

  std::filesystem::remove(called);
  compiler.submit(Service::request(1));
  REQUIRE(comes_to(is_called));
  service.compiler.reset();
  CHECK(group_is_gone(worker));
  CHECK(std::filesystem::is_empty(service.folder / "programs/worker/jobs"));

  service.settings.wall_deadline = seconds(3);
  const auto late = outcome_of(service.start(), Service::request(2));
  INFO(late.reason);
  CHECK(late.failure == CompileFailure::kTimeout);
  CHECK(late.reason.starts_with("it was not finished after 3 s of wall time"));
}

TEST_CASE("nothing is left soon after the training process was killed") {
  Service service;
  const test::EnvironmentVariable cxx("CXX", hanging_compiler(service));
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    service.start().submit(Service::request(0));
    comes_to([&] { return std::filesystem::exists(service.folder / "called"); });
    const auto groups = worker_groups();
    const pid_t group = groups.empty() ? 0 : groups[0];
    if (::write(ends[1], &group, sizeof group) < 0) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  pid_t group = 0;
  REQUIRE(::read(ends[0], &group, sizeof group) == sizeof group);
  REQUIRE(group > 0);
  REQUIRE(group_has_members(group));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(group_is_gone(group));
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
    comes_to(worker_maps_torch);
    const auto groups = worker_groups();
    const pid_t group = groups.empty() ? 0 : groups[0];
    if (::write(ends[1], &group, sizeof group) < 0) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  pid_t group = 0;
  REQUIRE(::read(ends[0], &group, sizeof group) == sizeof group);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(group_is_gone(group));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace esper::program::compiler_test
