#include "jobs/api/progress_feed.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "jobs/job/job_states.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

constexpr auto kBetweenLooks = std::chrono::seconds(1);

}  // namespace

ProgressFeed::ProgressFeed(boost::asio::io_context& loop, JobStore& store, ProgressReader& reader, Listeners listeners)
    : store_(store),
      reader_(reader),
      listeners_(std::move(listeners)),
      next_look_(loop, kBetweenLooks, [this] { go_on(); }) {}

void ProgressFeed::changed(const Job& job) {
  if (is_active(job.state) && listeners_.any()) wake();
}

void ProgressFeed::wake() {
  if (!std::exchange(is_awake_, true)) next_look_.start();
}

void ProgressFeed::go_on() {
  is_awake_ = false;
  if (!listeners_.any()) return;
  try {
    if (!look()) return;
  } catch (const base::Error& failed) {
    nissa::log::warning(std::string("progress cannot be read: ") + failed.what());
  }
  wake();
}

bool ProgressFeed::look() {
  const auto running = store_.list({.states = {JobState::kRunning, JobState::kStopping}});
  std::erase_if(published_,
                [&](const auto& entry) { return std::ranges::find(running, entry.first, &Job::id) == running.end(); });
  reader_.keep(running);
  for (const Job& job : running) look_at(job);
  return !running.empty();
}

void ProgressFeed::look_at(const Job& job) {
  auto& published = published_[job.id];
  const auto [progress, mark] = reader_.look(job, published);
  const bool is_news = mark.revision > 0 && mark != published;
  published = mark;
  if (is_news) listeners_.publish(progress);
}

}  // namespace esper::jobs
