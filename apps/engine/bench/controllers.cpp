#include "engine/bench/controllers.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "leyline/seed_command.h"

namespace esper::engine::bench {
namespace {

using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using leyline::Stage;

std::string command_id(const Observation& seen) { return fmt::format("bench-{}", seen.current_epoch); }

Decision ask(const Observation& seen, SeedOperation operation, const std::string& seed_id, const char* reason) {
  return {{leyline::seed_command(command_id(seen), operation, seed_id)}, reason};
}

class Growing final : public leyline::Controller {
 public:
  Growing(std::uint32_t first_epoch, std::uint32_t life) : first_epoch_(first_epoch), life_(life) {}

  Decision decide(const Observation& seen) override {
    if (seen.current_epoch < first_epoch_) return {{}, "waiting for the first epochs"};
    const auto growing = std::ranges::find_if(seen.seed_states, [](const leyline::SeedState& seed) {
      return seed.stage >= Stage::kGerminated && seed.stage <= Stage::kProbationary;
    });
    return growing == seen.seed_states.end() ? germinate(seen) : tend(seen, *growing);
  }
  std::string save_state() const override { return std::to_string(born_); }
  void load_state(const std::string& state) override { born_ = static_cast<std::uint32_t>(std::stoul(state)); }

 private:
  Decision germinate(const Observation& seen) {
    if (seen.slots.empty() || seen.slots.front().blueprints.empty()) return {{}, "no blueprint fits a free slot"};
    const auto& slot = seen.slots.front();
    born_ = seen.current_epoch;
    return {{leyline::germination(command_id(seen), slot.slot, slot.blueprints.front())}, "scheduled germination"};
  }

  Decision tend(const Observation& seen, const leyline::SeedState& seed) const {
    if (seen.current_epoch >= born_ + life_) {
      return ask(seen, SeedOperation::kCull, seed.seed_id, "scheduled prune");
    }
    SeedOperation next = SeedOperation::kStartTraining;
    if (seed.stage == Stage::kTraining) next = SeedOperation::kStartGrafting;
    if (seed.stage == Stage::kBlending) next = SeedOperation::kStabilize;
    if (seed.stage >= Stage::kShadowing) return {{}, "no change"};
    return ask(seen, next, seed.seed_id, "scheduled next stage");
  }

  const std::uint32_t first_epoch_, life_;
  std::uint32_t born_ = 0;
};

class Slow final : public leyline::Controller {
 public:
  Slow(std::unique_ptr<leyline::Controller> inner, base::Duration wait) : inner_(std::move(inner)), wait_(wait) {}

  Decision decide(const Observation& seen) override {
    base::Clock().sleep(wait_);
    return inner_->decide(seen);
  }
  std::string save_state() const override { return inner_->save_state(); }
  void load_state(const std::string& state) override { inner_->load_state(state); }

 private:
  std::unique_ptr<leyline::Controller> inner_;
  base::Duration wait_;
};

}  // namespace

std::unique_ptr<leyline::Controller> growing_controller(std::uint32_t first_epoch, std::uint32_t life) {
  return std::make_unique<Growing>(first_epoch, life);
}

std::unique_ptr<leyline::Controller> slow_controller(std::unique_ptr<leyline::Controller> inner, base::Duration wait) {
  return std::make_unique<Slow>(std::move(inner), wait);
}

}  // namespace esper::engine::bench
