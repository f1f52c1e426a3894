#pragma once
// Asking the controller with a deadline: an answer that comes late is dropped. A controller that may take its time runs
// on a thread of its own, and while it is still working nothing new is asked; one that only does some arithmetic is
// asked on the spot, which saves a small epoch most of what a decision costs. Used by the training thread.

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "leyline/controller.h"

namespace esper::tolaria {

struct Answer {
  enum class Kind {
    kDecided,
    kLate,    // no answer before the deadline: the default, no commands, applies
    kBusy,    // an earlier decision is still running; not asked
    kFailed,  // the controller threw, while deciding or while saying its state
  } kind = Kind::kDecided;
  leyline::Decision decision;
  std::string problem;
  double latency_ms = 0;
};

// Of this process.
struct ConsultationFigures {
  std::int64_t timeouts = 0;           // questions without an answer in time, those that were not asked included
  double last_timeout_ms = 0;          // how long the last one that was asked was waited for
  bool last_without_decision = false;  // the last question: the default applied
};

enum class Pace {
  kMayTakeLong,  // asked on a thread of its own: it can hang, and training goes on
  kImmediate     // asked in the training thread: it neither waits nor computes for long
};

class Consultation {
 public:
  Consultation(std::unique_ptr<leyline::Controller> controller, base::Clock clock, base::Duration deadline,
               Pace pace = Pace::kMayTakeLong);
  // Does not wait for a controller that is still working: its thread is left to itself, and shares nothing with others.
  ~Consultation();
  Consultation(const Consultation&) = delete;
  Consultation& operator=(const Consultation&) = delete;

  Answer ask(const leyline::Observation& observation);

  const ConsultationFigures& figures() const { return figures_; }

  // The controller's state after its last finished answer.
  std::string state() const;
  // Before the first question.
  void restore(const std::string& state);

 private:
  Answer ask_in_thread(const leyline::Observation& observation);
  Answer decide_inline(const leyline::Observation& observation);
  Answer late() const;

  struct Shared;
  std::shared_ptr<Shared> shared_;
  base::Clock clock_;
  base::Duration deadline_;
  ConsultationFigures figures_;
  std::thread thread_;  // none for an immediate controller
};

}  // namespace esper::tolaria
