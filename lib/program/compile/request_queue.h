#pragma once
// The requests of a compiler and their outcomes: some wait, at most one runs, the others have an outcome until somebody
// takes it. Data without a lock of its own.

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "program/compile/compile_request.h"

namespace esper::program {

class RequestQueue {
 public:
  void submit(CompileRequest request);
  // Those that wait end as kCancelled, the one that runs is abandoned. Outcomes that nobody took are dropped: who asks
  // for the program again gets none of an earlier request.
  void cancel(const std::string& key);

  bool has_waiting() const { return !waiting_.empty(); }
  // The first that waits now runs. One waits, and none runs.
  CompileRequest start_next();
  // cancel() was called for the one that runs.
  bool is_abandoned() const { return abandoned_; }
  // Of the one that runs. kCancelled where it is abandoned, whatever came of it: the cache has what was compiled.
  void finish(CompileOutcome outcome);

  // The oldest outcome of that key, once.
  std::optional<CompileOutcome> take(const std::string& key);
  // There is an outcome of that key, or none will come.
  bool is_settled(const std::string& key) const;
  // Requests without outcome yet.
  int pending() const { return static_cast<int>(waiting_.size()) + (running_.empty() ? 0 : 1); }

 private:
  std::deque<CompileRequest> waiting_;
  std::string running_;  // key; empty: none
  bool abandoned_ = false;
  std::vector<CompileOutcome> outcomes_;
};

}  // namespace esper::program
