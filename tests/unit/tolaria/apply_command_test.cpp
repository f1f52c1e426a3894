// A block that is copied behind its source, or widened, seen from the optimizer, the lanes and a checkpoint.

#include "tolaria/growth/apply_command.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "support/growing_model.h"

using namespace esper;
using namespace esper::tests;
using config::Lane;
using leyline::SeedOperation;

namespace {

constexpr const char* kSeed = "seed-0001";
constexpr int kStepsBefore = 20;

tolaria::AppliedCommand take(GrowingModel& grown, const leyline::AdaptationCommand& command) {
  auto done = grown.apply(command);
  INFO(done.events.back().reason);
  REQUIRE_FALSE(GrowingModel::refused(done));
  return done;
}

std::unique_ptr<GrowingModel> trained(const LaneCase& c, int steps = kStepsBefore, Lane lane = Lane::kEager) {
  at::set_num_threads(1);
  auto grown = std::make_unique<GrowingModel>(c, lane);
  grown->steps(steps);
  return grown;
}

void start_training(GrowingModel& grown) {
  grown.end_epoch(grown.good_facts());
  take(grown, grown.command(SeedOperation::kStartTraining, kSeed));
}

// Copied, trained and half blended in.
std::unique_ptr<GrowingModel> deepened(const LaneCase& c, Lane lane = Lane::kEager) {
  auto grown = trained(c, kStepsBefore, lane);
  take(*grown, grown->germination("r0c0", "copy_block"));
  grown->steps(3);
  start_training(*grown);
  grown->steps(3);
  grown->end_epoch(grown->good_facts());
  take(*grown, grown->command(SeedOperation::kStartGrafting, kSeed));
  grown->steps(3);
  return grown;
}

std::string source_of(const std::string& id) { return "host.layer0" + id.substr(id.find('.')); }

bool is_on_residual_path(const std::string& id) {
  return id.find(".attention.proj.") != std::string::npos || id.find(".mlp.down.") != std::string::npos;
}

}  // namespace

TEST_CASE("a copied block starts with the moments of its source, and says so") {
  const auto grown = trained(growing_decoder_case(0.1));
  const auto done = take(*grown, grown->germination("r0c0", "copy_block"));
  CHECK(done.change.created.size() == 12);
  CHECK(done.change.copied.size() == 8);
  CHECK(done.change.reset.size() == 4);
  const auto all = copies_of(*grown->model);
  CHECK(all.at("optimizer.step.seed-0001").item<float>() == kStepsBefore);
  for (const auto& id : done.change.created) {
    INFO(id);
    CHECK(at::equal(all.at("optimizer.exp_avg_sq." + id), all.at("optimizer.exp_avg_sq." + source_of(id))));
    CHECK(at::equal(all.at("ema." + id), all.at(id)));
    const auto& first = all.at("optimizer.exp_avg." + id);
    if (is_on_residual_path(id)) {
      CHECK(first.abs().max().item<float>() == 0);
    } else {
      CHECK(at::equal(first, all.at("optimizer.exp_avg." + source_of(id))));
    }
  }
}

TEST_CASE("training moves every parameter of a copied block, and those born zero by no more than others") {
  auto c = growing_decoder_case(0);
  c.config.training.optimizer.weight_decay = 0;
  const auto grown = trained(c, 200);
  take(*grown, grown->germination("r0c0", "copy_block"));
  start_training(*grown);
  const auto before = copies_of(*grown->model);
  grown->steps(1);
  const auto first = copies_of(*grown->model);
  grown->steps(4);
  const auto after = copies_of(*grown->model);
  for (const auto& [id, tensor] : after) {
    if (!id.starts_with("seed-0001.") || tensor.dim() == 0) continue;
    INFO(id);
    CHECK_FALSE(at::equal(tensor, before.at(id)));
    // In units of lr: about 0.1, but 1.3 with a second moment of zero, 0.1 / sqrt(0.001 / (1 - 0.999^200)).
    const double moved = (first.at(id) - before.at(id)).abs().mean().item<double>() / c.config.training.optimizer.lr;
    if (is_on_residual_path(id)) CHECK(moved < 0.6);
  }
}

TEST_CASE("a run with a copied block goes on from its tensors with the same bits") {
  const auto c = growing_decoder_case(0.1);
  const auto first = deepened(c);
  GrowingModel second(c);
  std::vector<kasmina::NamedTensor> saved;
  for (const auto& [id, tensor] : copies_of(*first->model)) saved.push_back({id, tensor});
  const auto restored = step::restore_model(*second.model, first->model->network.save_topology(), saved, torch::kCPU);
  REQUIRE(restored.has_value());
  second.number = first->number;
  first->steps(4);
  second.steps(4);
  CHECK(first_difference(copies_of(*first->model), copies_of(*second.model)).empty());
}

TEST_CASE("replay runs a copied block, dropout included, with eager's bits") {
  const auto eager = deepened(growing_decoder_case(0.1)), replay = deepened(growing_decoder_case(0.1), Lane::kReplay);
  CHECK(first_difference(copies_of(*eager->model), copies_of(*replay->model)).empty());
}

namespace {

// Widened, trained, half blended in, and then a part of the host.
std::unique_ptr<GrowingModel> widened(const LaneCase& c, Lane lane = Lane::kEager) {
  auto grown = trained(c, kStepsBefore, lane);
  take(*grown, grown->germination("r0c1", "widen"));
  grown->steps(3);
  for (const auto operation : {SeedOperation::kStartTraining, SeedOperation::kStartGrafting, SeedOperation::kStabilize,
                               SeedOperation::kEvaluate, SeedOperation::kFossilize}) {
    for (int i = 0; i < 4; ++i) grown->end_epoch(grown->good_facts());
    take(*grown, grown->command(operation, kSeed));
    grown->steps(3);
  }
  return grown;
}

}  // namespace

TEST_CASE("further units start with their originals' moments, in the scale of their gradients, and say so") {
  const auto grown = trained(growing_wide_case());
  const auto done = take(*grown, grown->germination("r0c1", "widen_half"));
  CHECK(done.change.copied == std::vector<std::string>{"seed-0001.linear.weight", "seed-0001.linear.bias"});
  CHECK(done.change.reset == std::vector<std::string>{"seed-0001.outlet.weight"});
  const auto all = copies_of(*grown->model);
  CHECK(all.at("optimizer.step.seed-0001").item<float>() == kStepsBefore);
  for (const std::string name : {"linear.weight", "linear.bias"}) {
    INFO(name);
    const auto own = "seed-0001." + name, source = "host.block1." + name;
    CHECK(at::equal(all.at(own), all.at(source).narrow(0, 0, 4)));
    CHECK(at::equal(all.at("optimizer.exp_avg." + own), all.at("optimizer.exp_avg." + source).narrow(0, 0, 4) * 0.5));
    CHECK(at::equal(all.at("optimizer.exp_avg_sq." + own),
                    all.at("optimizer.exp_avg_sq." + source).narrow(0, 0, 4) * 0.25));
  }
  CHECK(all.at("optimizer.exp_avg.seed-0001.outlet.weight").abs().max().item<float>() == 0);
  CHECK(at::equal(all.at("optimizer.exp_avg_sq.seed-0001.outlet.weight"),
                  all.at("optimizer.exp_avg_sq.host.block2.linear.weight").narrow(1, 0, 4)));
}

TEST_CASE("a run with a widened block goes on from its tensors with the same bits, growing or part of the host") {
  for (const auto kind : {config::HostKind::kMlp, config::HostKind::kCnn}) {
    const auto c = growing_wide_case(kind);
    const auto fossil = widened(c), growing = trained(c);
    take(*growing, growing->germination("r0c1", "widen"));
    start_training(*growing);
    growing->steps(3);
    for (auto* first : {growing.get(), fossil.get()}) {
      GrowingModel second(c);
      std::vector<kasmina::NamedTensor> saved;
      for (const auto& [id, tensor] : copies_of(*first->model)) saved.push_back({id, tensor});
      REQUIRE(step::restore_model(*second.model, first->model->network.save_topology(), saved, torch::kCPU));
      second.number = first->number;
      first->steps(4);
      second.steps(4);
      CHECK(first_difference(copies_of(*first->model), copies_of(*second.model)).empty());
    }
  }
}

TEST_CASE("replay runs a widened block with eager's bits") {
  for (const auto kind : {config::HostKind::kMlp, config::HostKind::kCnn}) {
    const auto c = growing_wide_case(kind);
    CHECK(first_difference(copies_of(*widened(c)->model), copies_of(*widened(c, Lane::kReplay)->model)).empty());
  }
}
