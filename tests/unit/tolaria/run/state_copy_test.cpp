#include "tolaria/run/state_copy.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <optional>
#include <string>

#include "support/run_fixture.h"

namespace esper::test::state_copy_test {

using tolaria::StateCopy;

namespace {

// With a momentum, averages, and a seed.
config::RunConfig config_of_all_kinds() {
  auto config = small_config();
  config.training.optimizer.momentum = 0.9;
  config.training.ema_decay = 0.99;
  config.growth.enabled = true;
  config.growth.gates.evidence = config::Evidence::kNone;
  return config;
}

std::map<std::string, torch::Tensor> by_id(const std::vector<kasmina::NamedTensor>& tensors) {
  std::map<std::string, torch::Tensor> all;
  for (const auto& [id, tensor] : tensors) all[id] = tensor;
  return all;
}

void change_everything(SmallRun& it) {
  const torch::NoGradGuard no_grad;
  for (const auto& [id, tensor] : step::model_tensors(*it.model)) torch::Tensor(tensor).add_(1);
  static_cast<void>(torch::rand({3}));
}

}  // namespace

TEST_CASE(
    "a copy has all that a checkpoint has of the model and of the generators, as it was, for longer than it lives") {
  SmallRun it(config_of_all_kinds(), germinates_at_once);
  REQUIRE(it.go().kind == tolaria::RunOutcome::Kind::kDone);
  REQUIRE_FALSE(it.model->network.scalars().empty());
  const auto before = it.bits();
  std::optional<StateCopy> copy(std::in_place, *it.model, torch::kCPU);
  const auto ids = step::all_tensors(*it.model, torch::kCPU);
  change_everything(it);
  CHECK(differing(before, it.bits()).size() == before.size());
  const auto tensors = copy->tensors();
  copy.reset();
  CHECK(differing(by_id(tensors), before).empty());
  REQUIRE(tensors.size() == ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    CHECK(tensors[i].id == ids[i].id);
    CHECK(tensors[i].tensor.is_contiguous());
  }
}

TEST_CASE("a copy is written back whole, but for the scalars of seeds, which no step changes") {
  SmallRun it(config_of_all_kinds(), germinates_at_once);
  REQUIRE(it.go().kind == tolaria::RunOutcome::Kind::kDone);
  const auto before = it.bits();
  const StateCopy copy(*it.model, torch::kCPU);
  change_everything(it);
  copy.restore();
  const auto changed = differing(before, it.bits());
  CHECK(changed.size() == it.model->network.scalars().size());
  for (const auto& id : changed) CHECK(id.starts_with("seed-0001."));
}

}  // namespace esper::test::state_copy_test
