#include "jobs/api/progress_feed.h"

#include <chrono>
#include <utility>

#include "base/error.h"
#include "jobs/job/job_states.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

constexpr auto kBetweenLooks = std::chrono::seconds(1);

void report_unreadable(const base::Error& failed) {
  nissa::log::warning(std::string("progress cannot be read: ") + failed.what());
}

}  // namespace

ProgressFeed::ProgressFeed(boost::asio::io_context& loop, JobStore& store, ProgressReader& reader, Listeners listeners)
    : store_(store),
      reader_(reader),
      listeners_(std::move(listeners)),
      next_look_(loop, kBetweenLooks, [this] { go_on(); }) {
  for (const Job& job : store.list({.states = kActiveStates})) published_.try_emplace(job.id);
}

void ProgressFeed::changed(const Job& job) {
  if (is_active(job.state)) {
    published_.try_emplace(job.id);
    if (listeners_.any()) wake();
  } else if (published_.contains(job.id)) {
    if (listeners_.any()) look_at_ended(job);
    published_.erase(job.id);
  }
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
    report_unreadable(failed);
  }
  wake();
}

bool ProgressFeed::look() {
  const auto running = store_.list({.states = {JobState::kRunning, JobState::kStopping}});
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

void ProgressFeed::look_at_ended(const Job& job) {
  try {
    look_at(job);
  } catch (const base::Error& failed) {
    report_unreadable(failed);
  }
}

}  // namespace esper::jobs
