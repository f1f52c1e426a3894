// Folding a fossil into the host, seen from the optimizer, the averages and a checkpoint.

#include "tolaria/growth/fold_state.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "kasmina/slot/gates.h"
#include "support/faults/failing_allocator.h"
#include "support/models/growing_model.h"
#include "unit/tolaria/network_output.h"

namespace esper::test::fold_state_test {

using namespace esper;
using namespace esper::tests;
using leyline::SeedOperation;

namespace {

constexpr const char* kSeed = "seed-0001";

// A seed on trial that has learned in every stage.
std::unique_ptr<GrowingModel> on_trial(const LaneCase& c = growing_case(), config::Lane lane = config::Lane::kEager) {
  auto grown = std::make_unique<GrowingModel>(c, lane);
  const auto issue = [&](const leyline::AdaptationCommand& command) {
    REQUIRE_FALSE(GrowingModel::refused(grown->apply(command)));
    for (int i = 0; i < 4; ++i) {
      grown->steps(2);
      grown->end_epoch(grown->good_facts());
    }
  };
  issue(grown->germination("r0c1", "linear"));
  for (const auto operation : {SeedOperation::kStartTraining, SeedOperation::kStartGrafting, SeedOperation::kStabilize,
                               SeedOperation::kEvaluate}) {
    issue(grown->command(operation, kSeed));
  }
  return grown;
}

}  // namespace

TEST_CASE("a folded fossil changes neither the network nor its average; other moments stay, the seed's go") {
  at::set_num_threads(1);
  const auto grown = on_trial();
  const auto before = copies_of(*grown->model);
  const auto output = output_of(*grown), averaged = averaged_output_of(*grown);
  REQUIRE(relative_change(averaged, output) > 1e-4);  // else the test would show nothing of averages
  const auto done = grown->apply(grown->command(SeedOperation::kFossilize, kSeed));
  REQUIRE(done.events.back().kind == kasmina::LifecycleEvent::Kind::kFold);
  INFO(done.events.back().reason);
  REQUIRE(done.events.back().passed);
  CHECK(relative_change(output_of(*grown), output) < kasmina::kMaxFoldChange);
  CHECK(relative_change(averaged_output_of(*grown), averaged) < kasmina::kMaxFoldChange);
  CHECK(done.structure_changed);
  CHECK(done.change.dropped == std::vector<std::string>{"seed-0001.weight", "seed-0001.bias"});
  CHECK(done.change.created.empty());
  CHECK(done.change.transformed == std::vector<std::string>{"host.block2.linear.weight"});
  CHECK(done.change.reset.empty());
  const auto after = copies_of(*grown->model);
  for (const auto& [id, tensor] : after) {
    CHECK(id.find(kSeed) == std::string::npos);
    const std::string layer = "host.block2.linear.";
    const bool folded = id.starts_with(layer) || id.starts_with("ema." + layer) ||
                        id == "optimizer.exp_avg." + layer + "weight" ||
                        id == "optimizer.exp_avg_sq." + layer + "weight";
    if (folded) {
      CHECK_FALSE(at::equal(tensor, before.at(id)));
    } else if (!id.starts_with("metrics.")) {
      INFO(id);
      CHECK(at::equal(tensor, before.at(id)));
    }
  }
  grown->steps(3);
  CHECK(output_of(*grown).isfinite().all().item<bool>());
}

// Steps of rate 0 move nothing but moments, so both ways to the same folded network see the same gradients.
TEST_CASE("the moments of a folded layer are those that it would have with its steps taken after the fold") {
  at::set_num_threads(1);
  for (const auto kind : {config::OptimizerKind::kSgd, config::OptimizerKind::kAdamw}) {
    auto c = growing_case();
    c.config.training.optimizer.kind = kind;
    c.config.training.optimizer.momentum = 0.9;
    const auto late = on_trial(c), early = on_trial(c);
    // A map that is far from the identity.
    for (auto* each : {late.get(), early.get()}) move_only_moments(*each, 0.05);
    const auto fold = [](GrowingModel& grown) {
      const auto done = grown.apply(grown.command(SeedOperation::kFossilize, kSeed));
      INFO(done.events.back().reason);
      REQUIRE(done.events.back().passed);
    };
    late->steps(6);
    const auto kept = copies_of(*late->model);
    fold(*late);
    fold(*early);
    early->steps(6);
    const auto is = copies_of(*late->model), wanted = copies_of(*early->model);
    const std::string layer = "host.block2.linear.";
    const std::string first = kind == config::OptimizerKind::kSgd ? "optimizer.momentum_buffer." : "optimizer.exp_avg.";
    CHECK(relative_change(is.at(layer + "weight"), wanted.at(layer + "weight")) < 1e-6);
    CHECK(relative_change(is.at(first + layer + "weight"), wanted.at(first + layer + "weight")) < 1e-4);
    CHECK(relative_change(is.at(first + layer + "bias"), wanted.at(first + layer + "bias")) < 1e-4);
    CHECK(relative_change(kept.at(first + layer + "weight"), wanted.at(first + layer + "weight")) > 0.05);
    if (kind == config::OptimizerKind::kSgd) continue;
    // An estimate: nearer to the truth than what was there, and no step above the layer's largest.
    const auto second = "optimizer.exp_avg_sq." + layer + "weight";
    const auto apart = [&](const torch::Tensor& one) { return (one - wanted.at(second)).norm().item<double>(); };
    CHECK(apart(is.at(second)) < apart(kept.at(second)));
    const auto largest_step = [&](const std::map<std::string, torch::Tensor>& of) {
      return (of.at(first + layer + "weight").abs() / of.at(second).sqrt().clamp_min(1e-20)).max().item<double>();
    };
    CHECK(largest_step(is) <= largest_step(kept) * 1.0001);
  }
}

TEST_CASE("if the slot's map has no inverse, the layer's first moment is reset, and training continues") {
  at::set_num_threads(1);
  const auto grown = on_trial();
  {
    const at::NoGradGuard no_grad;
    for (const auto& [id, tensor] : step::named_tensors(grown->model->state)) {
      if (id == "seed-0001.weight") torch::Tensor(tensor).copy_(-at::eye(tensor.size(0)));
    }
  }
  const auto before = copies_of(*grown->model);
  const auto done = grown->apply(grown->command(SeedOperation::kFossilize, kSeed));
  INFO(done.events.back().reason);
  REQUIRE(done.events.back().passed);
  CHECK(done.change.transformed.empty());
  CHECK(done.change.reset == std::vector<std::string>{"host.block2.linear.weight"});
  const auto after = copies_of(*grown->model);
  CHECK(after.at("optimizer.exp_avg.host.block2.linear.weight").count_nonzero().item<std::int64_t>() == 0);
  const std::string second = "optimizer.exp_avg_sq.host.block2.linear.weight";
  CHECK(after.at(second).min().item<float>() >= before.at(second).max().item<float>());
  CHECK(at::equal(after.at("optimizer.exp_avg.host.block2.linear.bias"),
                  before.at("optimizer.exp_avg.host.block2.linear.bias")));
  grown->steps(3);
  CHECK(output_of(*grown).isfinite().all().item<bool>());
}

// In the direction that the map shut, the layer's weight had no gradient: its second moment is zero there.
TEST_CASE("no step after a fold through a map without an inverse is much larger than the learning rate") {
  at::set_num_threads(1);
  constexpr double kRate = 1e-3;
  auto c = growing_case();
  c.config.training.optimizer.weight_decay = 0;
  const auto grown = on_trial(c);
  {
    const at::NoGradGuard no_grad;
    for (const auto& [id, tensor] : step::named_tensors(grown->model->state)) {
      if (id.starts_with("seed-0001.")) torch::Tensor(tensor).zero_();
      if (id == "seed-0001.weight") tensor[0][0] = -1;
      if (id.starts_with("optimizer.exp_avg")) torch::Tensor(tensor).zero_();
    }
  }
  step::set_learning_rate(grown->model->state, 0);
  grown->steps(200);
  const std::string weight = "host.block2.linear.weight";
  const auto shut = copies_of(*grown->model).at("optimizer.exp_avg_sq." + weight).select(1, 0);
  REQUIRE(shut.max().item<float>() < 1e-12);
  const auto done = grown->apply(grown->command(SeedOperation::kFossilize, kSeed));
  REQUIRE(done.events.back().passed);
  REQUIRE(done.change.reset == std::vector<std::string>{weight});
  step::set_learning_rate(grown->model->state, kRate);
  double largest = 0, largest_there = 0;
  for (int i = 0; i < 20; ++i) {
    const auto before = copies_of(*grown->model).at(weight);
    grown->steps(1);
    const auto moved = (copies_of(*grown->model).at(weight) - before).abs() / kRate;
    largest = std::max(largest, moved.max().item<double>());
    largest_there = std::max(largest_there, moved.select(1, 0).max().item<double>());
  }
  CAPTURE(largest, largest_there);
  CHECK(largest < 1.1);
  CHECK(largest_there > 0.01);  // and it learns there
}

TEST_CASE("a gate that rejects a fossil leaves the moments and averages unchanged, and nothing is computed for it") {
  at::set_num_threads(1);
  auto c = growing_case();
  c.config.growth.gates.min_contribution_points = 99;
  const auto grown = on_trial(c);
  const auto command = grown->command(SeedOperation::kFossilize, kSeed);
  const auto folded = tolaria::folded_state(*grown->model, command);
  CHECK(folded.averages.empty());
  CHECK(folded.first_moments.empty());
  const auto before = copies_of(*grown->model);
  REQUIRE(GrowingModel::refused(grown->apply(command)));
  CHECK(first_difference(before, copies_of(*grown->model)) == "");
}

TEST_CASE("a folded network goes on in the replay lane as in eager, with a program of its own") {
  at::set_num_threads(1);
  const auto eager = on_trial(), replay = on_trial(growing_case(), config::Lane::kReplay);
  const auto programs = replay->runner->figures().checks;
  for (auto* each : {eager.get(), replay.get()}) {
    REQUIRE(each->apply(each->command(SeedOperation::kFossilize, kSeed)).events.back().passed);
    each->steps(8);
  }
  CHECK(first_difference(copies_of(*eager->model), copies_of(*replay->model)) == "");
  CHECK(replay->runner->figures().checks == programs + 1);
  CHECK(replay->runner->figures().checks_failed == 0);
}

TEST_CASE("a folded network is resumed to the bit") {
  at::set_num_threads(1);
  const auto grown = on_trial();
  REQUIRE(grown->apply(grown->command(SeedOperation::kFossilize, kSeed)).events.back().passed);
  grown->steps(2);
  GrowingModel other;
  const auto restored = step::restore_model(*other.model, grown->model->network.save_topology(),
                                            step::all_tensors(*grown->model, torch::kCPU), torch::kCPU);
  REQUIRE(restored.error_or("") == "");
  CHECK(first_difference(copies_of(*grown->model), copies_of(*other.model)) == "");
  other.number = grown->number;
  grown->steps(3);
  other.steps(3);
  CHECK(first_difference(copies_of(*grown->model), copies_of(*other.model)) == "");
}

TEST_CASE("out of memory at any allocation of a fold leaves the seed, the host and the averages as they were") {
  at::set_num_threads(1);
  auto& memory = test::FailingAllocator::instance();
  const auto grown = on_trial();
  const auto command = grown->command(SeedOperation::kFossilize, kSeed);
  for (int n = 1;; ++n) {
    CAPTURE(n);
    const auto topology = grown->model->network.save_topology();
    const auto before = copies_of(*grown->model);
    memory.fail_at(n);
    const auto done = tolaria::apply_command(*grown->model, command, grown->probe, 1);
    if (!memory.fired()) {
      CHECK(done.events.back().passed);
      CHECK(n > 20);
      break;
    }
    REQUIRE(GrowingModel::refused(done));
    REQUIRE(done.events.back().code == "out_of_memory");
    REQUIRE(grown->model->network.save_topology() == topology);
    REQUIRE(first_difference(before, copies_of(*grown->model)) == "");
  }
}

TEST_CASE("while alpha goes down no parameter of the seed moves, its gate's included") {
  at::set_num_threads(1);
  for (const auto& [composition, name] : names(config::Composition{})) {
    CAPTURE(name);
    auto c = growing_case();
    c.config.growth.composition = composition;
    c.config.training.optimizer.weight_decay = 0.1;
    const auto grown = on_trial(c);
    REQUIRE_FALSE(GrowingModel::refused(grown->apply(grown->command(SeedOperation::kCancel, kSeed))));
    const auto before = copies_of(*grown->model);
    grown->steps(3);
    const auto after = copies_of(*grown->model);
    int seen = 0;
    for (const auto& [id, tensor] : before) {
      if (!id.starts_with("seed-0001.")) continue;
      INFO(id);
      CHECK(at::equal(after.at(id), tensor));
      ++seen;
    }
    CHECK(seen >= 6);
    CHECK_FALSE(at::equal(after.at("host.head.weight"), before.at("host.head.weight")));
  }
}

}  // namespace esper::test::fold_state_test
