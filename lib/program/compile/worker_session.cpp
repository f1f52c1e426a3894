#include "program/compile/worker_session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "base/names.h"
#include "base/text/json_fields.h"
#include "program/compile/loading_folder.h"
#include "program/compile/worker_source.h"

namespace esper::program {
namespace {

using base::text_at;
using nlohmann::json;
using Kind = WorkerAnswer::Kind;

constexpr base::Duration kCancelGrace = std::chrono::seconds(2);

// The worker ends a job that is over its deadlines by itself; one that does not is given up this much later.
base::Duration grace_of(const CompilerSettings& settings) {
  return std::min<base::Duration>(settings.wall_deadline, std::chrono::seconds(30));
}

double seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string own_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string absolute(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::absolute(path, ignored).string();
}

bool is_executable(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path);
}

// One of the GPUs named in CUDA_VISIBLE_DEVICES, which are all if it is empty: what it has to be for a process whose
// only GPU that is.
std::string only_card(const std::string& visible, int card) {
  if (visible.empty()) return std::to_string(card);
  std::istringstream names(visible);
  std::string name;
  for (int i = 0; i <= card; ++i) std::getline(names, name, ',');
  return name;
}

// Discarded if the worker sends something else than JSON: it cannot be used any more then.
json parse_line(const std::string& line) { return json::parse(line, nullptr, false); }

WorkerAnswer failed(CompileFailure failure, std::string reason) { return {Kind::kFailed, failure, std::move(reason)}; }

WorkerAnswer answer_in(const json& reply) {
  WorkerAnswer answer;
  answer.reason = text_at(reply, "reason");
  answer.ms = reply.value("ms", 0.0);
  answer.compiler = text_at(reply, "compiler");
  answer.stage_ms = reply.value("stages", std::map<std::string, double>{});
  answer.package = text_at(reply, "package");
  answer.not_used = reply.value("not_used", std::vector<std::string>{});
  if (const auto error = text_at(reply, "error"); !error.empty() || answer.package.empty()) {
    answer.failure = base::from_name<CompileFailure>(error).value_or(CompileFailure::kFailed);
    answer.kind = answer.failure == CompileFailure::kNoCompiler ? Kind::kUnavailable : Kind::kFailed;
  }
  return answer;
}

}  // namespace

WorkerSession::WorkerSession(const CompilerSettings& settings, std::string folder, const crypto::MacKey& mac_key,
                             std::atomic<CompileStage>& stage)
    : settings_(settings), folder_(std::move(folder)), mac_key_(mac_key), stage_(stage) {}

void WorkerSession::stop() {
  if (!process_) return;
  process_->kill();
  process_.reset();
  sweep_unlocked(folder_ + "/jobs", "");  // what it was at
}

WorkerAnswer WorkerSession::unavailable(CompileFailure failure, std::string reason) {
  stop();
  return {Kind::kUnavailable, failure, std::move(reason)};
}

WorkerAnswer WorkerSession::died() {
  process_->kill();
  const std::string how = process_->end();
  stop();
  return {Kind::kDied, CompileFailure::kCrashed, how};
}

WorkerCommand WorkerSession::command() const {
  std::map<std::string, std::string> variables;
  for (const char* name : {"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_DEVICE_ORDER",
                           "CUDA_VISIBLE_DEVICES", "LANG"}) {
    if (const auto value = own_environment(name); !value.empty()) variables[name] = value;
  }
  if (settings_.device == "cpu") {
    variables["CUDA_VISIBLE_DEVICES"] = "";  // a worker that has touched a GPU must not fork
  } else if (settings_.card > 0) {
    variables["CUDA_VISIBLE_DEVICES"] = only_card(variables["CUDA_VISIBLE_DEVICES"], settings_.card);
  }
  // A C++ compiler that the user names, else what the worker finds in PATH.
  const std::string cxx = own_environment("CXX");
  // A name alone is looked up in PATH; a path counts from here, not from the folder that the worker runs in.
  if (!cxx.empty()) variables["CXX"] = cxx.find('/') == std::string::npos ? cxx : absolute(cxx);
  variables["OMP_NUM_THREADS"] = "1";
  variables["PYTHONDONTWRITEBYTECODE"] = "1";
  variables["TORCHINDUCTOR_CACHE_DIR"] = folder_ + "/inductor";
  variables["TORCHINDUCTOR_COMPILE_THREADS"] = "1";
  const std::string headers = settings_.headers_dir.empty() ? folder_ : settings_.headers_dir;
  const char* priority = settings_.priority == WorkerPriority::kBackground ? "background" : "normal";
  return {
      absolute(settings_.python), kWorkerSource, {folder_, headers, priority, settings_.device}, std::move(variables)};
}

// Nothing: the process is there.
std::optional<WorkerAnswer> WorkerSession::launch() {
  if (settings_.python.empty() || !is_executable(settings_.python)) {
    return unavailable(CompileFailure::kNoPython, settings_.python.empty() ? "no Python was found; set ESPER_PYTHON"
                                                                           : "no executable " + settings_.python);
  }
  try {
    process_.emplace(command());
  } catch (const std::system_error& error) {
    return unavailable(CompileFailure::kNoPython, error.what());
  }
  return std::nullopt;
}

WorkerAnswer WorkerSession::start(const Interrupt& interrupt) {
  stage_ = CompileStage::kWorkerStart;
  if (auto refusal = launch()) return *refusal;
  const auto deadline = clock_.now() + settings_.start_deadline;
  for (std::string line;;) {
    if (interrupt.wanted()) return stop(), failed(CompileFailure::kCancelled, "cancelled");
    switch (process_->read_line(line, deadline - clock_.now(), interrupt.wake)) {
      case WorkerProcess::Read::kWoken:
        break;
      case WorkerProcess::Read::kTimeout:
        return unavailable(CompileFailure::kTimeout,
                           "the compile worker did not start within " + base::to_string(settings_.start_deadline));
      case WorkerProcess::Read::kEnd:
        return died();
      case WorkerProcess::Read::kLine:
        return greeted(line);
    }
  }
}

WorkerAnswer WorkerSession::greeted(const std::string& line) {
  const json hello = parse_line(line);
  if (!hello.is_object())
    return unavailable(CompileFailure::kNoPython, settings_.python + " cannot run the compile worker");
  if (const auto error = text_at(hello, "error"); !error.empty()) {
    return unavailable(base::from_name<CompileFailure>(error).value_or(CompileFailure::kNoPython),
                       text_at(hello, "reason"));
  }
  torch_version_ = text_at(hello, "torch");
  if (!settings_.torch_version.empty() && torch_version_ != settings_.torch_version) {
    return unavailable(CompileFailure::kWrongTorch,
                       settings_.python + " has torch " + torch_version_ + ", Esper uses " + settings_.torch_version);
  }
  return {};
}

WorkerAnswer WorkerSession::compile(const CompileRequest& request, const Interrupt& interrupt) {
  const std::uint64_t job = ++jobs_;
  const json message = {{"job", job},
                        {"source", request.source},
                        {"recipe", request.recipe},
                        {"mode", request.mode},
                        {"device", settings_.device},
                        {"deterministic", settings_.numerics.deterministic},
                        {"tf32", settings_.numerics.tf32},
                        {"threads", request.threads},
                        {"effort", base::name_of(request.effort)},
                        {"mac_key", crypto::hex_of(mac_key_)},
                        {"memory_limit_mb", settings_.memory_limit_mb},
                        {"deadline_s", seconds(settings_.deadline)},
                        {"wall_deadline_s", seconds(settings_.wall_deadline)}};
  if (!process_->send(message.dump(-1, ' ', false, json::error_handler_t::replace))) return died();
  return await_reply(job, interrupt);
}

WorkerAnswer WorkerSession::await_reply(std::uint64_t job, const Interrupt& interrupt) {
  // A worker may still be at what it does between two jobs.
  auto deadline = clock_.now() + settings_.start_deadline;
  bool began = false;
  std::optional<WorkerAnswer> verdict;  // once the job is being stopped: what it will be called
  const auto stop_job = [&](CompileFailure failure, const std::string& reason) {
    verdict = failed(failure, reason);
    deadline = clock_.now() + kCancelGrace;
    process_->send(json{{"cancel", job}}.dump());
  };
  for (;;) {
    if (interrupt.wanted() && !verdict) {
      stop_job(CompileFailure::kCancelled, "cancelled");
      if (!began) return *verdict;  // the worker drops it before it does anything
    }
    std::string line;
    switch (process_->read_line(line, deadline - clock_.now(), interrupt.wake)) {
      case WorkerProcess::Read::kWoken:
        break;
      case WorkerProcess::Read::kEnd:
        if (verdict) return stop(), *verdict;
        return died();
      case WorkerProcess::Read::kTimeout:  // without verdict and beginning: it does not even answer
        if (verdict) return stop(), *verdict;
        if (!began) return died();
        stop_job(CompileFailure::kTimeout, "the compile worker did not answer within " +
                                               base::to_string(settings_.wall_deadline + grace_of(settings_)));
        break;
      case WorkerProcess::Read::kLine: {
        const json reply = parse_line(line);
        if (!reply.is_object()) break;
        if (!verdict && base::number_at<std::uint64_t>(reply, "began") == job) {
          began = true;
          deadline = clock_.now() + settings_.wall_deadline + grace_of(settings_);
          stage_ = CompileStage::kCompiling;
          process_->stop_where_armed();
        }
        if (const auto headers = reply.find("headers"); headers != reply.end()) {
          stage_ = *headers == true ? CompileStage::kHeaders : CompileStage::kCompiling;
        }
        if (base::number_at<std::uint64_t>(reply, "job") == job) return verdict ? *verdict : answer_in(reply);
      }
    }
  }
}

}  // namespace esper::program
