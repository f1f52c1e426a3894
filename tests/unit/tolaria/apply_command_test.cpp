// A block that is copied behind its source, seen from the optimizer, the lanes and a checkpoint.

#include "tolaria/growth/apply_command.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
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

std::unique_ptr<GrowingModel> trained_decoder(const LaneCase& c, int steps = kStepsBefore, Lane lane = Lane::kEager) {
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
  auto grown = trained_decoder(c, kStepsBefore, lane);
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

std::string source_of(const std::string& id) { return "host.layer0" + id.substr(id.find('.')); }

bool is_on_residual_path(const std::string& id) {
  return id.find(".attention.proj.") != std::string::npos || id.find(".mlp.down.") != std::string::npos;
}

}  // namespace

TEST_CASE("a copied block starts with the moments of its source, and says so") {
  const auto grown = trained_decoder(growing_decoder_case(0.1));
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
  const auto grown = trained_decoder(c, 200);
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
  const auto grown = trained_decoder(c, 200);
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
}
