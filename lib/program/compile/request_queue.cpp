#include "program/compile/request_queue.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace esper::program {

void RequestQueue::submit(CompileRequest request) {
  ESPER_CHECK(!request.key.empty(), "a compile request needs a key");
  waiting_.push_back(std::move(request));
}

void RequestQueue::cancel(const std::string& key) {
  std::erase_if(outcomes_, [&](const CompileOutcome& outcome) { return outcome.key == key; });
  std::erase_if(waiting_, [&](const CompileRequest& request) {
    if (request.key != key) return false;
    outcomes_.push_back(failed_outcome(request, CompileFailure::kCancelled, "cancelled before it started"));
    return true;
  });
  if (running_ == key) abandoned_ = true;
}

CompileRequest RequestQueue::start_next() {
  ESPER_CHECK(running_.empty() && !waiting_.empty(), "one compile request at a time");
  CompileRequest request = std::move(waiting_.front());
  waiting_.pop_front();
  running_ = request.key;
  abandoned_ = false;
  return request;
}

void RequestQueue::finish(CompileOutcome outcome) {
  running_.clear();
  if (std::exchange(abandoned_, false)) outcome.failure = CompileFailure::kCancelled;
  outcomes_.push_back(std::move(outcome));
}

std::optional<CompileOutcome> RequestQueue::take(const std::string& key) {
  const auto found = std::ranges::find(outcomes_, key, &CompileOutcome::key);
  if (found == outcomes_.end()) return std::nullopt;
  CompileOutcome outcome = std::move(*found);
  outcomes_.erase(found);
  return outcome;
}

bool RequestQueue::is_settled(const std::string& key) const {
  if (std::ranges::find(outcomes_, key, &CompileOutcome::key) != outcomes_.end()) return true;
  return running_ != key && std::ranges::find(waiting_, key, &CompileRequest::key) == waiting_.end();
}

}  // namespace esper::program
