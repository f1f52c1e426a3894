#pragma once
// A seed grows, blends and is pruned between any two steps of an epoch, in one lane.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

#include "base/names.h"
#include "kasmina/slot/gates.h"
#include "support/models/growing_model.h"

namespace esper::tests {

class GrowEveryStep {
 public:
  static constexpr int kSteps = 5;  // of an epoch; a new program takes three of them to be found good

  GrowEveryStep(config::Lane lane, torch::Device device, program::CompileService* compile_service,
                const LaneCase& c = growing_case())
      : lane_(lane), device_(device), compile_service_(compile_service), case_(c) {}

  void run() {
    for (int at = 0; at < kSteps; ++at) {
      CAPTURE(base::name_of(lane_), at);
      live(at);
    }
    // Each place in the epoch had steps of the lane itself, not of eager in its stead.
    CHECK(lane_steps_.size() == static_cast<std::size_t>(kSteps));
    for (const auto steps : lane_steps_) CHECK(steps > 0);
  }

 private:
  using Operation = leyline::SeedOperation;

  // One life. Between epochs the seed is told what its next stage needs.
  void live(int at) {
    GrowingModel grown(case_, lane_, device_, compile_service_);
    epoch(grown, at, [&] {
      change(grown, grown.germination("r0c1", "mlp"), Bound::kSame);
      change(grown, grown.command(Operation::kStartTraining, kSeed), Bound::kSame);
    });
    epoch(grown, at, [&] { change(grown, grown.command(Operation::kStartGrafting, kSeed), Bound::kSameWithout); });
    epoch(grown, at, [&] { change(grown, grown.command(Operation::kCull, kSeed), Bound::kSameWithout); });
    const auto& figures = grown.runner->figures();
    CHECK(figures.checks_failed == 0);
    CHECK(figures.quarantined == 0);
    lane_steps_.push_back(figures.steps_in(lane_));
  }

  template <class Act>
  void epoch(GrowingModel& grown, int at, Act act) {
    for (int step = 0; step < kSteps; ++step) {
      if (step == at) act();
      grown.steps(1);
      CHECK(std::isfinite(step::read_metrics(grown.model->state).loss));
    }
    grown.end_epoch(grown.good_facts());
  }

  // kSame: the output is as before. kSameWithout: it is, with the seed's alpha at 0.
  enum class Bound { kSame, kSameWithout };

  void change(GrowingModel& grown, const leyline::AdaptationCommand& command, Bound bound) {
    const auto tensors = copies_of(*grown.model);
    const auto output = output_of(grown, bound);
    const auto done = grown.apply(command);
    INFO(done.events.back().reason);
    REQUIRE_FALSE(GrowingModel::refused(done));
    const auto after = output_of(grown, bound);
    CHECK(((after - output).abs().max() / output.abs().max()).item<double>() <= kasmina::kMaxGraftChange);
    check_kept(tensors, copies_of(*grown.model));
  }

  // Parameters, moments, averages and buffers that stay have the bits they had.
  static void check_kept(const std::map<std::string, torch::Tensor>& before,
                         const std::map<std::string, torch::Tensor>& after) {
    static const std::set<std::string> kScalars = {"alpha", "straight_through", "isolation_gate", "training_gate"};
    for (const auto& [id, tensor] : before) {
      if (kScalars.contains(id.substr(id.rfind('.') + 1))) continue;
      const bool follows = id.starts_with("metrics.") || id.starts_with("optimizer.lr_scale.");
      const bool stays = after.contains(id);
      if (follows || (!stays && id.find(kSeed) != std::string::npos)) continue;
      INFO(id);
      REQUIRE(stays);
      CHECK(at::equal(after.at(id), tensor));
    }
  }

  torch::Tensor output_of(const GrowingModel& grown, Bound bound) const {
    const at::NoGradGuard no_grad;
    torch::Tensor alpha;
    for (const auto& [id, tensor] : grown.model->network.scalars()) {
      if (id == std::string(kSeed) + ".alpha") alpha = tensor;
    }
    const bool silence = bound == Bound::kSameWithout && alpha.defined();
    const auto heard = silence ? alpha.clone() : torch::Tensor();
    if (silence) alpha.zero_();
    auto output = grown.model->network.forward(grown.probe.to(device_), kasmina::Mode::kEvaluate);
    if (silence) alpha.copy_(heard);
    return output;
  }

  static constexpr const char* kSeed = "seed-0001";
  config::Lane lane_;
  torch::Device device_;
  program::CompileService* compile_service_;
  LaneCase case_;
  std::vector<std::int64_t> lane_steps_;
};

}  // namespace esper::tests
