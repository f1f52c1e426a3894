#pragma once
// What a user changes of a job that was submitted. Plain data and pure functions. Any thread.

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/text/json_struct.h"
#include "jobs/job/job.h"

namespace esper::jobs {

// In JSON a list. A type of its own, so that base::read_json() reads an optional one.
struct JobIds {
  std::vector<JobId> ids{};
  bool operator==(const JobIds&) const = default;
};
inline nlohmann::json to_json(const JobIds& list) { return base::to_json(list.ids); }
inline base::JsonCheck read_json(const nlohmann::json& from, JobIds& to) { return base::read_json(from, to.ids); }

// Only what is given changes, so two users who change different fields do not undo each other's work.
struct JobChange {
  std::optional<std::string> name{};
  std::optional<std::int64_t> priority{};
  std::optional<JobIds> after{};  // all of them, in place of those before
  std::optional<std::int64_t> threads{}, memory_bytes{}, gpus{};
  // The run file, resolved, and the one that it was made from. A change that was made from another one than the job
  // has by now is refused.
  std::optional<std::string> config{}, config_before{};
  bool operator==(const JobChange&) const = default;
};
constexpr auto json_members(const JobChange*) {
  using base::json_member;
  using C = JobChange;
  return std::tuple{json_member("name", &C::name),
                    json_member("priority", &C::priority),
                    json_member("after", &C::after),
                    json_member("threads", &C::threads),
                    json_member("memory_bytes", &C::memory_bytes),
                    json_member("gpus", &C::gpus),
                    json_member("config", &C::config),
                    json_member("config_before", &C::config_before)};
}

// Why the job's state does not allow the change, with the way out; empty: it does.
std::string why_not(const Job& job, const JobChange& change);

// Whether the forecast of the job's run has to be made again.
bool changes_forecast(const JobChange& change);

// The job with the change, but for its run file. Without a forecast where that has to be made again; with a new run
// file its GPUs follow from that unless the change names them.
Job changed(Job job, const JobChange& change);

// "priority 3, memory_bytes 4096, run file", for the audit log.
std::string summary_of(const JobChange& change);

}  // namespace esper::jobs
