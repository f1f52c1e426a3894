#pragma once
// A controller that does what a test says.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "leyline/controller.h"
#include "leyline/seed_command.h"

namespace esper::test {

class ScriptedController final : public leyline::Controller {
 public:
  using Script = std::function<leyline::Decision(const leyline::Observation&)>;

  explicit ScriptedController(Script script) : script_(std::move(script)) {}
  leyline::Decision decide(const leyline::Observation& observation) override {
    auto decision = script_(observation);
    state_ = "{\"epoch\":" + std::to_string(observation.current_epoch) + "}";
    return decision;
  }
  std::string save_state() const override { return state_; }
  void load_state(const std::string& json) override { state_ = json; }

 private:
  Script script_;
  std::string state_ = "{}";
};

inline std::unique_ptr<leyline::Controller> scripted(ScriptedController::Script script) {
  return std::make_unique<ScriptedController>(std::move(script));
}

inline std::string command_id(const leyline::Observation& seen) {
  return "command-" + std::to_string(seen.current_epoch);
}

inline leyline::AdaptationCommand seed_command(const leyline::Observation& seen, leyline::SeedOperation operation,
                                               const std::string& seed_id) {
  return leyline::seed_command(command_id(seen), operation, seed_id);
}

// A script: germinates an mlp at slot r0c0 at the end of the first epoch.
inline leyline::Decision germinates_at_once(const leyline::Observation& seen) {
  if (seen.current_epoch != 1) return {};
  return {{leyline::germination(command_id(seen), "r0c0", "mlp")}, "as the test says"};
}

// At the first slot, the first blueprint that fits.
inline leyline::AdaptationCommand germination(const leyline::Observation& seen) {
  const auto& slot = seen.slots.front();
  return leyline::germination(command_id(seen), slot.slot, slot.blueprints.front());
}

}  // namespace esper::test
