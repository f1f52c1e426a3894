#include "esper/queue/wait.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.h"
#include "esper/queue/job_events.h"
#include "esper/queue/job_requests.h"

namespace esper {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLongest = std::chrono::hours(1);  // of one wait for an event

class Wait {
 public:
  Wait(const DaemonAddress& address, const std::vector<std::int64_t>& ids, std::optional<double> timeout_s)
      : address_(address), missing_(ids), timeout_s_(timeout_s), events_(address) {}

  std::map<std::int64_t, nlohmann::json> run() {
    look([](std::int64_t) { return true; });
    while (!missing_.empty()) {
      const auto left = time_left();
      if (left <= base::Duration(0)) throw late();
      const auto seen = events_.next(std::min<base::Duration>(left, kLongest));
      look([&](std::int64_t id) { return seen.concerns(id); });
    }
    return std::move(ended_);
  }

 private:
  template <class Wanted>
  void look(Wanted wanted) {
    std::erase_if(missing_, [&](std::int64_t id) {
      if (!wanted(id)) return false;
      auto job = ask_daemon(address_, "GET", job_target(id));
      if (!has_ended(job)) return false;
      ended_[id] = std::move(job);
      return true;
    });
  }

  base::Duration time_left() const {
    if (!timeout_s_) return kLongest;
    return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(*timeout_s_)) -
           (Clock::now() - since_);
  }

  base::Error late() const {
    const bool is_one = missing_.size() == 1;
    return {base::ExitCode::kTryAgain,
            fmt::format("{} {} {} not ended in time; {}", is_one ? "job" : "jobs", ids_text(missing_),
                        is_one ? "has" : "have", is_one ? "it continues" : "they continue")};
  }

  const DaemonAddress& address_;
  std::vector<std::int64_t> missing_;
  const std::optional<double> timeout_s_;
  const Clock::time_point since_ = Clock::now();
  JobEvents events_;
  std::map<std::int64_t, nlohmann::json> ended_;
};

}  // namespace

std::vector<nlohmann::json> wait_for_end(const DaemonAddress& address, const std::vector<std::int64_t>& ids,
                                         std::optional<double> timeout_s) {
  const auto ended = Wait(address, ids, timeout_s).run();
  std::vector<nlohmann::json> jobs;
  for (const auto id : ids) jobs.push_back(ended.at(id));
  return jobs;
}

}  // namespace esper
