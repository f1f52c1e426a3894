#include "engine/bench/controllers.h"

#include <algorithm>
#include <string>
#include <utility>

namespace esper::engine::bench {
namespace {

using leyline::AdaptationCommand;
using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using leyline::Stage;

AdaptationCommand seed_command(const Observation& seen, SeedOperation operation, const std::string& seed_id) {
  AdaptationCommand command;
  command.command_id = "bench-" + std::to_string(seen.current_epoch);
  command.command_type = leyline::CommandType::kSeed;
  command.target_seed_id = seed_id;
  command.seed_operation.emplace();
  command.seed_operation->operation = operation;
  return command;
}

class Growing final : public leyline::Controller {
 public:
  Growing(std::uint32_t first_epoch, std::uint32_t life) : first_epoch_(first_epoch), life_(life) {}

  Decision decide(const Observation& seen) override {
    if (seen.current_epoch < first_epoch_) return {{}, "the network settles first"};
    const auto growing = std::ranges::find_if(seen.seed_states, [](const leyline::SeedState& seed) {
      return seed.stage >= Stage::kGerminated && seed.stage <= Stage::kProbationary;
    });
    return growing == seen.seed_states.end() ? germinate(seen) : tend(seen, *growing);
  }
  std::string save_state() const override { return std::to_string(born_); }
  void load_state(const std::string& json) override { born_ = static_cast<std::uint32_t>(std::stoul(json)); }

 private:
  Decision germinate(const Observation& seen) {
    if (seen.slots.empty() || seen.slots.front().blueprints.empty()) return {{}, "nothing can grow here"};
    AdaptationCommand command = seed_command(seen, SeedOperation::kGerminate, "");
    command.seed_operation->slot = seen.slots.front().slot;
    command.seed_operation->blueprint_id = seen.slots.front().blueprints.front();
    born_ = seen.current_epoch;
    return {{command}, "time to grow"};
  }

  Decision tend(const Observation& seen, const leyline::SeedState& seed) const {
    if (seen.current_epoch >= born_ + life_) {
      return {{seed_command(seen, SeedOperation::kCull, seed.seed_id)}, "its time is over"};
    }
    SeedOperation next = SeedOperation::kStartTraining;
    if (seed.stage == Stage::kTraining) next = SeedOperation::kStartGrafting;
    if (seed.stage == Stage::kBlending) next = SeedOperation::kStabilize;
    if (seed.stage >= Stage::kShadowing) return {{}, "it stays as it is"};
    return {{seed_command(seen, next, seed.seed_id)}, "on to the next stage"};
  }

  const std::uint32_t first_epoch_, life_;
  std::uint32_t born_ = 0;
};

class Slow final : public leyline::Controller {
 public:
  Slow(std::unique_ptr<leyline::Controller> inner, leyline::Duration wait) : inner_(std::move(inner)), wait_(wait) {}

  Decision decide(const Observation& seen) override {
    leyline::Clock().sleep(wait_);
    return inner_->decide(seen);
  }
  std::string save_state() const override { return inner_->save_state(); }
  void load_state(const std::string& json) override { inner_->load_state(json); }

 private:
  std::unique_ptr<leyline::Controller> inner_;
  leyline::Duration wait_;
};

}  // namespace

std::unique_ptr<leyline::Controller> growing_controller(std::uint32_t first_epoch, std::uint32_t life) {
  return std::make_unique<Growing>(first_epoch, life);
}

std::unique_ptr<leyline::Controller> slow_controller(std::unique_ptr<leyline::Controller> inner,
                                                     leyline::Duration wait) {
  return std::make_unique<Slow>(std::move(inner), wait);
}

}  // namespace esper::engine::bench
