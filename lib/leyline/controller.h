#pragma once
// The interface of a policy that decides how the network grows.

#include <string>

#include "leyline/command.h"
#include "leyline/observation.h"

namespace esper::leyline {

class Controller {
 public:
  virtual ~Controller() = default;
  // Called once after each epoch, in order, from the training thread. A bad observation is answered with no commands.
  virtual Decision decide(const Observation& observation) = 0;
  // All that decide() depends on besides the observation, as JSON text; load_state of it makes an equal controller.
  virtual std::string save_state() const = 0;
  virtual void load_state(const std::string& json) = 0;
};

}  // namespace esper::leyline
