// A block that is copied behind its source, or widened, seen from the optimizer, the lanes and a checkpoint.

#include "tolaria/growth/apply_command.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>

#include "kasmina/network/network_widening.h"
#include "support/models/growing_model.h"
#include "unit/tolaria/network_output.h"

namespace esper::test::apply_command_test {

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
std::unique_ptr<GrowingModel> deepened(const LaneCase& c, Lane lane = Lane::kEager,
                                       const std::string& blueprint = "copy_block") {
  auto grown = trained(c, kStepsBefore, lane);
  take(*grown, grown->germination("r0c0", blueprint));
  grown->steps(3);
  start_training(*grown);
  grown->steps(3);
  grown->end_epoch(grown->good_facts());
  take(*grown, grown->command(SeedOperation::kStartGrafting, kSeed));
  grown->steps(3);
  return grown;
}

struct Copying {
  LaneCase c;
  std::string blueprint;
};

// Its steps, those after it grew too, were replayed, but for the first three of each structure.
void check_replayed(const GrowingModel& grown) {
  CHECK(grown.runner->figures().steps_in(Lane::kReplay) > kStepsBefore);
  CHECK(grown.runner->figures().checks_failed == 0);
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

TEST_CASE("the gate of a copied block moves by no more than lr or so in any of its first steps") {
  auto c = growing_decoder_case(0);
  c.config.growth.composition = config::Composition::kChannel;
  c.config.training.optimizer.weight_decay = 0;
  const auto grown = trained(c, 200);
  take(*grown, grown->germination("r0c0", "copy_block_plain"));
  start_training(*grown);
  const std::string gate = "seed-0001.blend_gate.weight";
  bool has_moved = false;
  for (int step = 0; step < 20; ++step) {
    const auto before = copies_of(*grown->model).at(gate);
    grown->steps(1);
    const auto moved = (copies_of(*grown->model).at(gate) - before).abs();
    INFO("step " << step);
    CHECK(moved.mean().item<double>() < 1.3 * c.config.training.optimizer.lr);
    if (step == 0) CHECK(moved.max().item<double>() < 0.6 * c.config.training.optimizer.lr);
    has_moved |= moved.max().item<double>() > 0;
  }
  CHECK(has_moved);
}

TEST_CASE("a run with copied blocks goes on from its tensors with the same bits") {
  const auto [c, blueprint] =
      GENERATE(Copying{growing_decoder_case(0.1), "copy_block"}, Copying{growing_decoder_case(0), "copy_block*2"},
               Copying{growing_residual_case(), "copy_block_plain*2"});
  const auto first = deepened(c, Lane::kEager, blueprint);
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

TEST_CASE("replay runs copied blocks, dropout and batch norm included, with eager's bits") {
  const auto [c, blueprint] =
      GENERATE(Copying{growing_decoder_case(0.1), "copy_block"}, Copying{growing_residual_case(), "copy_block*2"});
  const auto eager = deepened(c, Lane::kEager, blueprint), replay = deepened(c, Lane::kReplay, blueprint);
  CHECK(first_difference(copies_of(*eager->model), copies_of(*replay->model)).empty());
  check_replayed(*replay);
}

namespace {

// Widened, trained through every stage, and on trial.
std::unique_ptr<GrowingModel> widened_on_trial(const LaneCase& c, Lane lane = Lane::kEager) {
  auto grown = trained(c, kStepsBefore, lane);
  take(*grown, grown->germination("r0c1", "widen"));
  grown->steps(3);
  for (const auto operation : {SeedOperation::kStartTraining, SeedOperation::kStartGrafting, SeedOperation::kStabilize,
                               SeedOperation::kEvaluate}) {
    for (int i = 0; i < 4; ++i) grown->end_epoch(grown->good_facts());
    take(*grown, grown->command(operation, kSeed));
    grown->steps(3);
  }
  grown->end_epoch(grown->good_facts());
  return grown;
}

// And then a part of the host.
std::unique_ptr<GrowingModel> widened(const LaneCase& c, Lane lane = Lane::kEager) {
  auto grown = widened_on_trial(c, lane);
  take(*grown, grown->command(SeedOperation::kFossilize, kSeed));
  grown->steps(3);
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
    const auto eager = widened(c), replay = widened(c, Lane::kReplay);
    CHECK(first_difference(copies_of(*eager->model), copies_of(*replay->model)).empty());
    check_replayed(*replay);
  }
}

TEST_CASE("a widening that becomes part of the host changes neither the network nor its average") {
  const auto operation = GENERATE(SeedOperation::kFossilize, SeedOperation::kKeep);
  for (const auto kind : {config::HostKind::kMlp, config::HostKind::kCnn}) {
    const auto grown = widened_on_trial(growing_wide_case(kind));
    const auto output = output_of(*grown), averaged = averaged_output_of(*grown);
    const auto shared = kasmina::shared_columns(grown->model->network.state(), kSeed);
    REQUIRE(shared);
    const auto before = copies_of(*grown->model);
    const auto done = take(*grown, grown->command(operation, kSeed));
    CHECK(relative_change(output_of(*grown), output) < 1e-5);
    CHECK(relative_change(averaged_output_of(*grown), averaged) < 1e-5);
    CHECK(done.change.transformed == std::vector<std::string>{shared->seed});
    const auto after = copies_of(*grown->model);
    CHECK_FALSE(at::equal(after.at(shared->host), before.at(shared->host)));
    for (const std::string kept : {"optimizer.exp_avg.", "optimizer.exp_avg_sq."}) {
      CHECK(at::equal(after.at(kept + shared->host), before.at(kept + shared->host)));
    }
  }
}

// Steps of rate 0 move nothing but moments, so both ways to the same wide network see the same gradients.
TEST_CASE("the first moments of a widening that fossilised are those that the wide network's steps would have left") {
  auto c = growing_wide_case();
  c.config.training.optimizer.weight_decay = 0;
  const auto late = widened_on_trial(c), early = widened_on_trial(c);
  for (auto* each : {late.get(), early.get()}) move_only_moments(*each, 0.1);
  late->steps(6);
  take(*late, late->command(SeedOperation::kFossilize, kSeed));
  take(*early, early->command(SeedOperation::kFossilize, kSeed));
  early->steps(6);
  const auto is = copies_of(*late->model), wanted = copies_of(*early->model);
  for (const std::string id : {"seed-0001.outlet.weight", "seed-0001.linear.weight", "host.block1.linear.weight",
                               "host.block2.linear.weight"}) {
    INFO(id);
    CHECK(relative_change(is.at("optimizer.exp_avg." + id), wanted.at("optimizer.exp_avg." + id)) < 1e-4);
  }
}

TEST_CASE("a graft whose checkpoints would not fit on the disk is refused, and changes nothing") {
  const auto grown = trained(growing_decoder_case(0.1));
  const auto before = copies_of(*grown->model);
  const auto refused = grown->apply(grown->germination("r0c0", "copy_block"), std::uint64_t{1000});
  REQUIRE(GrowingModel::refused(refused));
  CHECK(refused.events.back().code == "out_of_space");
  CHECK_FALSE(refused.structure_changed);
  CHECK(copies_of(*grown->model).size() == before.size());
  take(*grown, grown->germination("r0c0", "copy_block"));
}

}  // namespace esper::test::apply_command_test
