#include "jobs/daemon/api.h"

#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/names.h"
#include "base/text/json_struct.h"
#include "config/loading/load.h"

namespace esper::jobs {
namespace {

using http::Request;
using http::Response;

constexpr std::size_t kMostBodyBytes = 8u << 20;
constexpr std::size_t kMostNameBytes = 200;
constexpr std::string_view kJobs = "/v1/jobs";

struct PriorityChange {
  std::optional<std::int64_t> priority{};
};
constexpr auto json_members(const PriorityChange*) {
  return std::tuple{base::json_member("priority", &PriorityChange::priority)};
}

Response json_response(const nlohmann::json& document, int status = 200) {
  return {.status = status, .body = base::json_line(document) + "\n"};
}

Response refusal(int status, const std::string& reason) { return json_response({{"error", reason}}, status); }

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_absolute(const std::string& path) { return path.starts_with('/') && path.find('\0') == std::string::npos; }

// Empty: it can be queued.
std::string mistakes_in(const Submission& submission) {
  const auto& name = submission.name;
  if (name.empty() || name.size() > kMostNameBytes || name.find_first_of("/\n\r") != std::string::npos ||
      name[0] == '.')
    return "name: needs 1 to 200 characters, no \"/\" and no line end, and may not begin with a dot";
  std::error_code ignored;
  if (!is_absolute(submission.folder) || !std::filesystem::is_directory(submission.folder, ignored))
    return "folder: needs the absolute path of a folder that exists";
  if (!is_absolute(submission.run_dir.empty() ? submission.runs_dir : submission.run_dir))
    return "run_dir, or runs_dir: needs an absolute path";
  const auto& needs = submission.needs;
  if (needs.threads < 0 || needs.memory_bytes < 0 || needs.gpus < 0) return "needs: no number may be below 0";
  const auto loaded = config::read_run_config_text(submission.config, "config");
  if (loaded.problems.empty()) return "";
  std::string text = "config: the run file has mistakes";
  for (const auto& problem : loaded.problems) text += "; " + base::to_string(problem);
  return text;
}

std::optional<Queue::Action> action_named(std::string_view name) {
  if (name == "cancel") return Queue::Action::kCancel;
  if (name == "pause") return Queue::Action::kPause;
  if (name == "resume") return Queue::Action::kResume;
  if (name == "retry") return Queue::Action::kRetry;
  return std::nullopt;
}

// "queued,running"; nothing: one of them is no state.
std::optional<std::vector<JobState>> states_in(const std::string& text) {
  std::vector<JobState> states;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    const auto state = base::from_name<JobState>(name);
    if (!state) return std::nullopt;
    states.push_back(*state);
  }
  return states;
}

std::int64_t uid_of(const Request& request) {
  return request.peer.is_local ? static_cast<std::int64_t>(request.peer.uid) : static_cast<std::int64_t>(::getuid());
}

}  // namespace

Job Api::with_reason(Job job) const {
  job.reason = queue_.waiting_reason(job);
  return job;
}

Response Api::daemon() const {
  nlohmann::json counts;
  for (const auto& [state, name] : names(JobState{})) counts[std::string(name)] = store_.count(state);
  return json_response({{"pid", ::getpid()},
                        {"version", facts_.version},
                        {"state_dir", facts_.state_dir},
                        {"draining", queue_.is_draining()},
                        {"jobs", counts}});
}

Response Api::submit(const Request& request) {
  const auto document = base::parse_json(request.body, kMostBodyBytes);
  if (!document) return refusal(400, document.error());
  const auto submission = base::from_json<Submission>(*document);
  if (!submission) return refusal(400, submission.error());
  if (const std::string mistakes = mistakes_in(*submission); !mistakes.empty()) return refusal(400, mistakes);
  const auto made = queue_.submit(*submission, uid_of(request));
  return made ? json_response(base::to_json(*made), 201) : refusal(400, made.error());
}

Response Api::list(const Request& request) {
  JobFilter filter;
  for (const auto& [name, value] : request.query) {
    if (name == "state") {
      const auto states = states_in(value);
      if (!states) return refusal(400, "state: needs names of states: " + base::all_names<JobState>());
      filter.states = *states;
    } else if (name == "name") {
      filter.name = value;
    } else if (const auto number = number_in(value); name == "limit" && number && *number > 0) {
      filter.most = *number;
    } else {
      return refusal(400, fmt::format("unknown parameter, or value: {}; known: state, name, limit", name));
    }
  }
  auto jobs = nlohmann::json::array();
  for (Job& job : store_.list(filter)) jobs.push_back(base::to_json(with_reason(std::move(job))));
  return json_response({{"jobs", std::move(jobs)}});
}

Response Api::change(const Request& request, JobId id) {
  const auto document = base::parse_json(request.body, kMostBodyBytes);
  if (!document) return refusal(400, document.error());
  const auto change = base::from_json<PriorityChange>(*document);
  if (!change) return refusal(400, change.error());
  if (!change->priority) return refusal(400, "nothing to change: give \"priority\"");
  const auto changed = queue_.set_priority(id, *change->priority, uid_of(request));
  return changed ? json_response(base::to_json(*changed)) : refusal(409, changed.error());
}

Response Api::answer_job(const Request& request, JobId id, const std::string& what) {
  const auto job = store_.find(id);
  if (!job) return refusal(404, fmt::format("there is no job {}", id));
  if (what.empty() && request.method == "GET") return json_response(base::to_json(with_reason(*job)));
  if (what.empty() && request.method == "PATCH") return change(request, id);
  if (what == "config" && request.method == "GET") {
    return {.content_type = "application/yaml", .body = store_.config_of(id)};
  }
  const auto action = action_named(what);
  if (!action) return refusal(404, "there is nothing of that name; docs/daemon.md lists what there is");
  if (request.method != "POST") return refusal(405, "needs POST");
  const auto done = queue_.act(id, *action, uid_of(request));
  return done ? json_response(base::to_json(*done)) : refusal(409, done.error());
}

Response Api::answer(const Request& request) {
  const std::string_view path = request.path;
  const bool is_get = request.method == "GET", is_post = request.method == "POST";
  if (path == "/v1/daemon" && is_get) return daemon();
  if (path == "/v1/events" && is_get) return {.is_event_stream = true};
  if (path == "/v1/daemon/drain" && is_post) {
    queue_.drain();
    return daemon();
  }
  if (path == "/v1/daemon/stop" && is_post) {
    stop_();
    return daemon();
  }
  if (path == kJobs && is_get) return list(request);
  if (path == kJobs && is_post) return submit(request);
  if (path.starts_with(std::string(kJobs) + "/")) {
    const std::string_view rest = path.substr(kJobs.size() + 1);
    const auto slash = rest.find('/');
    const auto id = number_in(rest.substr(0, slash));
    const std::string what(slash == std::string_view::npos ? "" : rest.substr(slash + 1));
    if (id) return answer_job(request, *id, what);
  }
  return refusal(404, "there is nothing of that name and method; docs/daemon.md lists what there is");
}

}  // namespace esper::jobs
