#pragma once
// Asks the controller with a deadline: a late answer is dropped, and before its next question the controller gets back
// the state that it had before that one. A controller that may take long runs on its own thread, and is not asked again
// while it is working; one that only does some arithmetic is called directly, which saves most of a decision's cost in
// a small epoch. Used by the training thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "leyline/controller.h"
#include "tamiyo/service/answer.h"

namespace esper::tamiyo {

// Of this process.
struct ConsultationFigures {
  std::int64_t timeouts = 0;      // questions without an answer in time, unasked ones included
  double last_timeout_ms = 0;     // how long the last timed-out question was waited for
  std::int64_t late_answers = 0;  // that came and were dropped before the last question
};

enum class Pace {
  kMayTakeLong,  // runs on its own thread: it may hang, and training continues
  kImmediate     // runs in the training thread: it neither waits nor computes for long
};

class Consultation {
 public:
  Consultation(std::unique_ptr<leyline::Controller> controller, base::Clock clock, base::Duration deadline,
               Pace pace = Pace::kMayTakeLong);
  // Waits at most a second for a controller that is still working; then its thread is detached, and shares nothing with
  // others.
  ~Consultation();
  Consultation(const Consultation&) = delete;
  Consultation& operator=(const Consultation&) = delete;

  // A question in two parts. What has arrived when finish() is called is in time, whatever the deadline; it is waited
  // for until the deadline, which begin() starts.
  void begin(const leyline::Observation& observation);
  Answer finish();

  const ConsultationFigures& figures() const { return figures_; }

  // The controller's state after its last answer that was not dropped; between begin() and finish() that before the
  // question.
  std::string state() const;
  // Call before the first question.
  void restore(const std::string& state);

 private:
  struct Asked {
    base::Duration begin{};
    std::string state;                  // before
    std::optional<Answer> answer = {};  // of an immediate controller, or of one that is busy
  };
  bool hand_over(const leyline::Observation& observation, base::Duration begin);
  Answer decide_inline(const leyline::Observation& observation);
  Answer wait_for_answer(const Asked& asked);
  Answer late() const;

  struct Shared;
  std::shared_ptr<Shared> shared_;
  base::Clock clock_;
  base::Duration deadline_;
  ConsultationFigures figures_;
  std::optional<Asked> asked_;  // between begin() and finish()
  std::thread thread_;          // none for an immediate controller
};

}  // namespace esper::tamiyo
