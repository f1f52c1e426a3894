#include "tamiyo/service/answer_box.h"

#include <utility>

namespace esper::tamiyo {

std::optional<std::uint64_t> AnswerBox::open() {
  const std::lock_guard lock(mutex_);
  if (in_flight_) return std::nullopt;
  in_flight_ = true;
  expired_ = false;
  answer_.reset();
  return ++asked_;
}

Arrival AnswerBox::put(std::uint64_t number, Answer answer) {
  const std::lock_guard lock(mutex_);
  if (number == 0 || number > asked_) {
    ++figures_.unasked;
    return Arrival::kUnasked;
  }
  if (number < asked_ || !in_flight_) {
    ++figures_.duplicate;
    return Arrival::kDuplicate;
  }
  in_flight_ = false;
  if (expired_) {
    ++figures_.late;
    return Arrival::kLate;
  }
  answer_ = std::move(answer);
  arrived_.notify_all();
  return Arrival::kTaken;
}

std::optional<Answer> AnswerBox::wait_until(const base::Clock& clock, base::Duration deadline) {
  std::unique_lock lock(mutex_);
  if (clock.wait_until(arrived_, lock, deadline, [&] { return answer_.has_value(); })) {
    return std::exchange(answer_, std::nullopt);
  }
  expired_ = true;
  return std::nullopt;
}

ArrivalFigures AnswerBox::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace esper::tamiyo
