#pragma once
// A user's controller whose program is not started: for what checks a saved state and asks nothing. One thread at a
// time.

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "leyline/controller.h"
#include "tamiyo/process/process_state.h"

namespace esper::tamiyo {

class UnstartedController final : public leyline::Controller {
 public:
  leyline::Decision decide(const leyline::Observation&) override {
    throw std::runtime_error("its program is not started");
  }
  std::string save_state() const override { return process_state_text(state_, StateForm::kOfUser); }
  // Throws Error{kCheckpoint} for what ProcessController would refuse.
  void load_state(const std::string& text) override { state_ = read_process_state(text, StateForm::kOfUser); }

 private:
  nlohmann::json state_ = nlohmann::json::object();
};

}  // namespace esper::tamiyo
