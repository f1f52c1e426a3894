#include "program/compile/compiler.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "leyline/names.h"
#include "program/compile/worker_source.h"
#include "storage/file_tools.h"

namespace esper::program {
namespace {

using nlohmann::json;

constexpr leyline::Duration kCancelGrace = std::chrono::seconds(2);

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

bool is_executable(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path);
}

// Dropped if the worker sends something that is no object: it is then as good as dead.
json parse_line(const std::string& line) { return json::parse(line, nullptr, false); }

std::string text_in(const json& object, const char* name) {
  const auto field = object.find(name);
  return field != object.end() && field->is_string() ? field->get<std::string>() : std::string();
}

}  // namespace

Compiler::Compiler(CompilerSettings settings, PackageCache& cache) : settings_(std::move(settings)), cache_(cache) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) throw leyline::IoError("make", "a pipe", errno);
  wake_read_ = Descriptor(ends[0]);
  wake_write_ = Descriptor(ends[1]);
}

Compiler::~Compiler() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  wake();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Compiler::wake() {
  const char byte = 1;
  // A full pipe wakes as well.
  [[maybe_unused]] const auto ignored = ::write(wake_write_.get(), &byte, 1);
}

void Compiler::drain_wakes() {
  char bytes[64];
  while (::read(wake_read_.get(), bytes, sizeof bytes) > 0) {
  }
}

void Compiler::submit(CompileRequest request) {
  ESPER_CHECK(!request.key.empty(), "a compile request needs a key");
  const std::lock_guard guard(mutex_);
  waiting_.push_back(std::move(request));
  changed_.notify_all();
  if (thread_.joinable()) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals stay with the main thread, and a closed pipe gives EPIPE
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Compiler::cancel(const std::string& key) {
  const std::lock_guard guard(mutex_);
  for (auto request = waiting_.begin(); request != waiting_.end();) {
    if (request->key != key) {
      ++request;
      continue;
    }
    outcomes_.push_back(ended(*request, CompileFailure::kCancelled, "cancelled before it began"));
    request = waiting_.erase(request);
  }
  if (running_ == key) abandon_running_ = true;
  wake();
  changed_.notify_all();
}

std::optional<CompileOutcome> Compiler::poll() {
  const std::lock_guard guard(mutex_);
  if (outcomes_.empty()) return std::nullopt;
  auto outcome = std::move(outcomes_.front());
  outcomes_.erase(outcomes_.begin());
  return outcome;
}

std::optional<CompileOutcome> Compiler::wait(const std::string& key, leyline::Duration deadline) {
  std::unique_lock lock(mutex_);
  const auto of_key = [&](const auto& item) { return item.key == key; };
  const auto found = [&] { return std::ranges::find_if(outcomes_, of_key); };
  const auto settled = [&] {
    return found() != outcomes_.end() || (running_ != key && std::ranges::none_of(waiting_, of_key));
  };
  clock_.wait_until(changed_, lock, clock_.now() + deadline, settled);
  const auto outcome = found();
  if (outcome == outcomes_.end()) return std::nullopt;
  auto result = std::move(*outcome);
  outcomes_.erase(outcome);
  return result;
}

int Compiler::pending() const {
  const std::lock_guard guard(mutex_);
  return static_cast<int>(waiting_.size()) + (running_.empty() ? 0 : 1);
}

bool Compiler::next(CompileRequest& request) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
  if (stopping_) return false;
  request = std::move(waiting_.front());
  waiting_.pop_front();
  running_ = request.key;
  abandon_running_ = false;
  return true;
}

void Compiler::run() {
  CompileRequest request;
  while (next(request)) {
    CompileOutcome outcome;
    try {
      outcome = compile(request);
    } catch (const std::exception& error) {
      stop_worker();
      outcome = ended(request, CompileFailure::kCrashed, error.what());
    }
    const std::lock_guard guard(mutex_);
    running_.clear();
    outcomes_.push_back(std::move(outcome));
    changed_.notify_all();
  }
  stop_worker();
  const std::lock_guard guard(mutex_);
  for (const auto& left : waiting_) outcomes_.push_back(ended(left, CompileFailure::kCancelled, "the run ended"));
  waiting_.clear();
}

CompileOutcome Compiler::ended(const CompileRequest& request, CompileFailure failure, std::string reason) const {
  CompileOutcome outcome;
  outcome.key = request.key;
  outcome.effort = request.effort;
  outcome.recipe = request.recipe;
  outcome.failure = failure;
  outcome.reason = std::move(reason);
  return outcome;
}

bool Compiler::is_abandoned(const std::string& key) {
  const std::lock_guard guard(mutex_);
  return stopping_ || (running_ == key && abandon_running_);
}

// False if somebody wants this thread's attention before.
bool Compiler::pause(leyline::Duration length) {
  std::unique_lock lock(mutex_);
  return !clock_.wait_until(changed_, lock, clock_.now() + length, [&] { return stopping_ || abandon_running_; });
}

void Compiler::stop_worker() {
  if (!worker_) return;
  worker_->kill();
  last_end_ = worker_->end();
  worker_.reset();
  worker_group_ = 0;
}

// Nothing from attempt() means that the worker died under the request: it gets one more, with a new worker.
CompileOutcome Compiler::compile(const CompileRequest& request) {
  if (hopeless_) return ended(request, *hopeless_->failure, hopeless_->reason);
  for (int crashes = 0;; ++crashes) {
    if (auto outcome = attempt(request)) return *outcome;
    stop_worker();
    const std::string reason = "the compile worker died (" + last_end_ + ")";
    if (restarts_ >= settings_.max_restarts) {
      hopeless_ = ended(request, CompileFailure::kCrashed, reason + "; it was restarted often enough");
      return *hopeless_;
    }
    const auto length = settings_.restart_pause * (1 << std::min(restarts_.load(), 10));
    ++restarts_;
    if (!pause(length)) return ended(request, CompileFailure::kCancelled, "cancelled");
    if (crashes == 1) return ended(request, CompileFailure::kCrashed, reason + " twice at this program");
  }
}

std::optional<CompileOutcome> Compiler::attempt(const CompileRequest& request) {
  if (is_abandoned(request.key)) return ended(request, CompileFailure::kCancelled, "cancelled");
  if (!worker_) {
    auto refusal = start_worker(request);
    if (refusal || !worker_) return refusal;
  }
  const std::uint64_t job = ++jobs_;
  const json message = {{"job", job},
                        {"source", request.source},
                        {"recipe", request.recipe},
                        {"mode", request.mode},
                        {"device", request.device},
                        {"threads", request.threads},
                        {"effort", leyline::name_of(request.effort)},
                        {"memory_limit_mb", settings_.memory_limit_mb}};
  if (!worker_->send(message.dump(-1, ' ', false, json::error_handler_t::replace))) return std::nullopt;
  return await_reply(request, job);
}

WorkerCommand Compiler::worker_command() const {
  std::map<std::string, std::string> variables;
  for (const char* name : {"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "LANG"}) {
    if (const auto value = environment(name); !value.empty()) variables[name] = value;
  }
  const std::string cxx = settings_.cxx.empty() ? environment("CXX") : settings_.cxx;
  if (!cxx.empty()) variables["CXX"] = cxx;
  variables["OMP_NUM_THREADS"] = "1";
  variables["PYTHONDONTWRITEBYTECODE"] = "1";
  const std::string folder = cache_.folder() + "/worker";
  variables["TORCHINDUCTOR_CACHE_DIR"] = folder + "/inductor";
  variables["TORCHINDUCTOR_COMPILE_THREADS"] = "1";
  return {settings_.python, kWorkerSource, {folder}, std::move(variables)};
}

// Nothing and no worker_: it died while it started.
std::optional<CompileOutcome> Compiler::start_worker(const CompileRequest& request) {
  const auto refuse = [&](CompileFailure failure, const std::string& reason) {
    stop_worker();
    hopeless_ = ended(request, failure, reason);
    return hopeless_;
  };
  if (settings_.python.empty() || !is_executable(settings_.python)) {
    return refuse(CompileFailure::kNoPython, settings_.python.empty()
                                                 ? "no Python was found; name one with ESPER_PYTHON"
                                                 : "there is no executable " + settings_.python);
  }
  std::error_code problem;
  std::filesystem::create_directories(cache_.folder() + "/worker", problem);
  if (problem) {
    const bool full = problem == std::errc::no_space_on_device;
    return refuse(full ? CompileFailure::kDiskFull : CompileFailure::kCacheRefused,
                  "cannot write to " + cache_.folder() + ": " + problem.message() +
                      "; name another folder with step.compile.cache_dir or ESPER_CACHE");
  }
  try {
    worker_.emplace(worker_command());
  } catch (const std::system_error& error) {
    return refuse(CompileFailure::kNoPython, error.what());
  }
  worker_group_ = worker_->pid();
  std::string line;
  const auto deadline = clock_.now() + settings_.start_deadline;
  for (;;) {
    drain_wakes();
    if (is_abandoned(request.key)) return stop_worker(), ended(request, CompileFailure::kCancelled, "cancelled");
    const auto read = worker_->read_line(line, deadline - clock_.now(), wake_read_.get());
    if (read == WorkerProcess::Read::kWoken) continue;
    if (read == WorkerProcess::Read::kTimeout) {
      return refuse(CompileFailure::kTimeout,
                    "the compile worker did not start in " + leyline::to_string(settings_.start_deadline));
    }
    if (read == WorkerProcess::Read::kEnd) return stop_worker(), std::nullopt;
    break;
  }
  const json hello = parse_line(line);
  if (!hello.is_object())
    return refuse(CompileFailure::kNoPython, settings_.python + " does not run the compile worker");
  if (const auto error = text_in(hello, "error"); !error.empty()) {
    return refuse(leyline::from_name<CompileFailure>(error).value_or(CompileFailure::kNoPython),
                  text_in(hello, "reason"));
  }
  worker_torch_ = text_in(hello, "torch");
  if (!settings_.torch_version.empty() && worker_torch_ != settings_.torch_version) {
    return refuse(CompileFailure::kWrongTorch,
                  settings_.python + " has torch " + worker_torch_ + ", this program runs " + settings_.torch_version);
  }
  return std::nullopt;
}

std::optional<CompileOutcome> Compiler::await_reply(const CompileRequest& request, std::uint64_t job) {
  // A worker may still be at what it does between two jobs.
  auto deadline = clock_.now() + settings_.start_deadline;
  bool began = false;
  std::optional<CompileOutcome> verdict;  // once the job is being stopped: what it will be called
  const auto stop_job = [&](CompileFailure failure, const std::string& reason) {
    verdict = ended(request, failure, reason);
    deadline = clock_.now() + kCancelGrace;
    worker_->send(json{{"cancel", job}}.dump());
  };
  for (;;) {
    drain_wakes();
    if (!verdict && is_abandoned(request.key)) {
      stop_job(CompileFailure::kCancelled, "cancelled");
      if (!began) return verdict;  // the worker drops it before it does anything
    }
    std::string line;
    switch (worker_->read_line(line, deadline - clock_.now(), wake_read_.get())) {
      case WorkerProcess::Read::kWoken:
        break;
      case WorkerProcess::Read::kEnd:
        if (verdict) stop_worker();
        return verdict;
      case WorkerProcess::Read::kTimeout:
        if (verdict || !began) return stop_worker(), verdict;  // it does not even answer
        stop_job(CompileFailure::kTimeout,
                 "it took longer than " + leyline::to_string(settings_.deadline) + " (step.compile.deadline)");
        break;
      case WorkerProcess::Read::kLine: {
        const json reply = parse_line(line);
        if (!reply.is_object()) break;
        if (!verdict && reply.value("began", std::uint64_t{0}) == job) {
          began = true;
          deadline = clock_.now() + settings_.deadline;
        }
        if (reply.value("job", std::uint64_t{0}) == job) return verdict ? *verdict : accept(request, line);
      }
    }
  }
}

CompileOutcome Compiler::accept(const CompileRequest& request, const std::string& line) {
  const json reply = parse_line(line);
  CompileOutcome outcome = ended(request, CompileFailure::kFailed, text_in(reply, "reason"));
  outcome.compile_ms = reply.value("ms", 0.0);
  outcome.compiler = text_in(reply, "compiler");
  outcome.stage_ms = reply.value("stages", std::map<std::string, double>{});
  if (const auto error = text_in(reply, "error"); !error.empty()) {
    outcome.failure = leyline::from_name<CompileFailure>(error).value_or(CompileFailure::kFailed);
    if (outcome.failure == CompileFailure::kNoCompiler) hopeless_ = outcome;
    return outcome;
  }
  const std::string package = text_in(reply, "package");
  const PackageFacts facts = {request.recipe,     std::string(leyline::name_of(request.effort)),
                              worker_torch_,      outcome.compiler,
                              outcome.compile_ms, leyline::rfc3339(clock_.wall())};
  const auto stored = cache_.insert(request.key, package, facts);
  std::error_code ignored;
  std::filesystem::remove_all(std::filesystem::path(package).parent_path(), ignored);
  outcome.failure.reset();
  if (stored.failure) {
    outcome.failure =
        stored.failure == InsertFailure::kNoSpace ? CompileFailure::kDiskFull : CompileFailure::kCacheRefused;
    outcome.reason = stored.reason;
  }
  return outcome;
}

}  // namespace esper::program
