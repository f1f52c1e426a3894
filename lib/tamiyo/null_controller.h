#pragma once
// The policy without commands: policy.kind none.

#include <string>

#include "leyline/controller.h"

namespace esper::tamiyo {

class NullController final : public leyline::Controller {
 public:
  leyline::Decision decide(const leyline::Observation&) override {
    return {{}, "policy.kind is none: no growth commands"};
  }
  std::string save_state() const override { return "{}"; }
  void load_state(const std::string&) override {}
};

}  // namespace esper::tamiyo
