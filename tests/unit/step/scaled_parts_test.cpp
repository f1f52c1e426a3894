#include "step/scaled_parts.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>

#include "support/call_counter.h"
#include "support/models/growing_model.h"
#include "support/models/training_model.h"

namespace esper::tests::scaled_parts_test {
namespace {

using step::Model;

constexpr double kBeyondHalves = 1e12;

LaneCase in_halves(LaneCase c) {
  c.compute = torch::kHalf;
  return c;
}

// A cnn, one of whose blocks is copied by a seed that trains in the shadow of the network: both have batch norm.
std::unique_ptr<Model> with_copied_block() {
  LaneCase c = in_halves(growing_residual_case());
  c.config.growth.training = config::SeedTraining::kShadow;
  auto model = make_model(c);
  for (const auto& command : {leyline::germination("c1", "r0c0", "copy_block"),
                              leyline::seed_command("c2", leyline::SeedOperation::kStartTraining, "seed-0001")}) {
    const auto events = model->network.apply(command, probe_of(c));
    REQUIRE(events.back().kind != kasmina::LifecycleEvent::Kind::kCommandRejected);
  }
  step::follow_structure(*model);
  step::follow_training_gates(*model);
  return model;
}

std::map<std::string, torch::Tensor> statistics_of(const Model& model, const std::string& owner) {
  std::map<std::string, torch::Tensor> copies;
  for (const auto& [id, tensor] : model.network.buffers()) {
    if (id.starts_with(owner + ".")) copies[id] = tensor.clone();
  }
  REQUIRE_FALSE(copies.empty());
  return copies;
}

void train(Model& model, const std::vector<step::Microbatch>& batches) {
  step::train_step(model.state, model.settings, batches, step::training_forward(model.network));
}

// All of them are as they were, or none.
void check_kept(const std::map<std::string, torch::Tensor>& before, const Model& model, const std::string& owner,
                bool kept) {
  for (const auto& [id, tensor] : statistics_of(model, owner)) {
    INFO(id);
    CHECK(tensor.isfinite().all().item<bool>());
    CHECK(at::equal(tensor, before.at(id)) == kept);
  }
}

}  // namespace

TEST_CASE("a skipped step leaves batch norm's running statistics as they were") {
  at::set_num_threads(1);
  const LaneCase c = in_halves(growing_cases()[1]);
  const auto model = make_model(c);
  model->state.loss_scale.scale.fill_(128);
  auto before = statistics_of(*model, "host");
  train(*model, make_batches(c, 2));
  check_kept(before, *model, "host", false);

  before = statistics_of(*model, "host");
  auto batches = make_batches(c, 2);
  SECTION("because its forward overflows") { batches.back().inputs.mul_(kBeyondHalves); }
  SECTION("because its gradient overflows") { model->state.loss_scale.scale.fill_(std::ldexp(1.0, 40)); }
  train(*model, batches);
  REQUIRE(model->state.loss_scale.found_inf.item<float>() == 1);
  check_kept(before, *model, "host", true);

  model->state.loss_scale.scale.fill_(128);
  train(*model, make_batches(c, 2));
  check_kept(before, *model, "host", false);
}

TEST_CASE("a seed in the shadow keeps its own statistics where its own step is skipped, and the host its own") {
  at::set_num_threads(1);
  for (const bool host_overflows : {true, false}) {
    const auto model = with_copied_block();
    step::GroupState& seed = model->state.groups.back();
    REQUIRE(seed.loss_scale.enabled());
    const double calm = 128, excessive = std::ldexp(1.0, 40);
    model->state.loss_scale.scale.fill_(host_overflows ? excessive : calm);
    seed.loss_scale.scale.fill_(host_overflows ? calm : excessive);
    const auto host = statistics_of(*model, "host"), own = statistics_of(*model, "seed-0001");
    train(*model, make_batches(in_halves(growing_residual_case()), 1));
    check_kept(host, *model, "host", host_overflows);
    check_kept(own, *model, "seed-0001", !host_overflows);
  }
}

TEST_CASE("only statistics are kept, only where steps may be skipped, and nothing is read") {
  at::set_num_threads(1);
  LaneCase c = growing_cases()[1];
  c.config.host.freeze = {"*", "!head.*"};
  CHECK(make_model(c)->state.statistics.empty());
  const auto model = make_model(in_halves(c));
  REQUIRE_FALSE(model->state.statistics.empty());
  for (const auto& [id, tensor] : model->state.statistics) {
    INFO(id);
    CHECK((id.find(".running_") != std::string::npos || id.ends_with(".num_batches_tracked")));
  }
  const auto batches = make_batches(c, 2);
  const test::CallCounter counter;
  train(*model, batches);
  CHECK(test::CallCounter::host_reads() == 0);
}

}  // namespace esper::tests::scaled_parts_test
