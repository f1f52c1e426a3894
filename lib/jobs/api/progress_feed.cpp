#include "jobs/api/progress_feed.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

constexpr auto kBetweenLooks = std::chrono::seconds(1);

}  // namespace

void ProgressFeed::wake() {
  if (std::exchange(is_awake_, true)) return;
  timer_.expires_after(kBetweenLooks);
  timer_.async_wait([this](const boost::system::error_code& error) {
    is_awake_ = false;
    if (error || !listeners_.any()) return;
    try {
      look();
    } catch (const base::Error& failed) {
      nissa::log::warning(std::string("progress cannot be read: ") + failed.what());
    }
    wake();
  });
}

void ProgressFeed::look() {
  const auto running = store_.list({.states = {JobState::kRunning, JobState::kStopping}});
  std::erase_if(published_,
                [&](const auto& entry) { return std::ranges::find(running, entry.first, &Job::id) == running.end(); });
  for (const Job& job : running) look_at(job);
}

void ProgressFeed::look_at(const Job& job) {
  std::uint64_t& published = published_[job.id];
  auto [progress, revision] = reader_.look(job, published);
  // What was forgotten begins anew.
  if (revision < published) progress = reader_.look(job).progress;
  if (revision != std::exchange(published, revision)) listeners_.publish(progress);
}

}  // namespace esper::jobs
