#pragma once
// The policy without commands: of policy.kind none, and where growth.enabled is false.

#include <string>

#include "leyline/controller.h"

namespace esper::tamiyo {

class NullController final : public leyline::Controller {
 public:
  leyline::Decision decide(const leyline::Observation&) override {
    return {{}, "no growth commands: policy.kind is none, or growth.enabled is false"};
  }
  std::string save_state() const override { return "{}"; }
  void load_state(const std::string&) override {}
};

}  // namespace esper::tamiyo
