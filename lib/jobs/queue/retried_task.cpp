#include "jobs/queue/retried_task.h"

#include <fmt/core.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

constexpr auto kAfterFailure = std::chrono::seconds(1);

}  // namespace

RetriedTask::RetriedTask(boost::asio::io_context& loop, std::function<void()> task)
    : loop_(loop), task_(std::move(task)), again_(loop, kAfterFailure, [this] { request(); }) {}

void RetriedTask::request() {
  if (std::exchange(is_requested_, true)) return;
  boost::asio::post(loop_, [this] {
    is_requested_ = false;
    run();
  });
}

void RetriedTask::run() {
  try {
    task_();
    failure_.clear();
  } catch (const base::Error& error) {
    if (error.code() == base::ExitCode::kBug) throw;
    if (failure_ != error.what()) nissa::log::warning(fmt::format("{}; tried again each second", error.what()));
    failure_ = error.what();
    request_later();
  }
}

}  // namespace esper::jobs
