#pragma once
// Where the answer to the one question in flight arrives, from another thread. An answer that comes after its deadline,
// a second time, or to a question that nobody asked is dropped and counted. One thread asks and waits; any thread may
// deliver.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "tamiyo/service/answer.h"

namespace esper::tamiyo {

enum class Arrival { kTaken, kLate, kDuplicate, kUnasked };

// Dropped answers so far.
struct ArrivalFigures {
  std::int64_t late = 0, duplicate = 0, unasked = 0;
};

class AnswerBox {
 public:
  // The number of a new question, from 1 on; nothing while an earlier one has no answer yet, late as it may be.
  std::optional<std::uint64_t> open();
  Arrival put(std::uint64_t number, Answer answer);
  // The answer to the newest question; nothing if it has not come by then (monotonic): when it comes it is dropped.
  std::optional<Answer> wait_until(const base::Clock& clock, base::Duration deadline);

  ArrivalFigures figures() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::uint64_t asked_ = 0;  // the number of the newest question
  bool in_flight_ = false, expired_ = false;
  std::optional<Answer> answer_;
  ArrivalFigures figures_;
};

}  // namespace esper::tamiyo
