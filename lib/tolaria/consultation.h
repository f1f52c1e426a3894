#pragma once
// Asking the controller with a deadline. The controller runs on a thread of its own; an answer that comes late is
// dropped, and while it is still being worked on nothing new is asked. Used by the training thread.

#include <memory>
#include <string>
#include <thread>

#include "leyline/clock.h"
#include "leyline/controller.h"

namespace esper::tolaria {

struct Answer {
  enum class Kind {
    kDecided,
    kLate,    // no answer before the deadline: the default, no commands, applies
    kBusy,    // an earlier question is still being worked on; not asked
    kFailed,  // the controller threw, while deciding or while saying its state
  } kind = Kind::kDecided;
  leyline::Decision decision;
  std::string problem;
  double latency_ms = 0;
};

class Consultation {
 public:
  Consultation(std::unique_ptr<leyline::Controller> controller, leyline::Clock clock, leyline::Duration deadline);
  // Does not wait for a controller that is still working: its thread is left to itself, and shares nothing with others.
  ~Consultation();
  Consultation(const Consultation&) = delete;
  Consultation& operator=(const Consultation&) = delete;

  Answer ask(const leyline::Observation& observation);

  // The controller's state after its last finished answer.
  std::string state() const;
  // Before the first question.
  void restore(const std::string& state);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  leyline::Clock clock_;
  leyline::Duration deadline_;
  std::thread thread_;
};

}  // namespace esper::tolaria
