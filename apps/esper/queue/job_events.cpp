#include "esper/queue/job_events.h"

#include <thread>
#include <utility>

#include "base/text/json_fields.h"
#include "base/text/json_struct.h"

namespace esper {
namespace {

constexpr auto kBetweenAttempts = std::chrono::milliseconds(200);

base::Expected<http::EventReader> open_events(const DaemonAddress& address, base::Duration timeout) {
  return http::EventReader::open(endpoint_of(address), "/v1/events", timeout);
}

}  // namespace

JobEvents::JobEvents(DaemonAddress address) : address_(std::move(address)) {
  auto opened = open_events(address_, kAnswerTime);
  if (!opened) throw no_answer(address_, {.reason = opened.error()});
  events_ = std::move(*opened);
}

bool JobEvents::Seen::concerns(std::int64_t id) const {
  return kind == Kind::kMissed || (kind == Kind::kJob && base::number_at<std::int64_t>(job, "id") == id);
}

JobEvents::Seen JobEvents::next(base::Duration timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    const auto event = events_->next(deadline - std::chrono::steady_clock::now());
    if (!event) {
      reopen();
      return {.kind = Seen::Kind::kMissed};
    }
    if (!*event) return {};
    if ((*event)->name != "job") continue;
    auto job = base::parse_json((*event)->data, http::kMostEventBytes);
    if (!job) return {.kind = Seen::Kind::kMissed};
    return {.kind = Seen::Kind::kJob, .job = std::move(*job)};
  }
}

void JobEvents::reopen() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    auto opened = open_events(address_, kPatience);
    if (opened) {
      events_ = std::move(*opened);
      return;
    }
    if (std::chrono::steady_clock::now() > deadline) throw no_answer(address_, {.reason = opened.error()});
    std::this_thread::sleep_for(kBetweenAttempts);
  }
}

}  // namespace esper
