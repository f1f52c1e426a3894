#include "tolaria/run/run_image.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "kasmina/slot/topology.h"
#include "support/run_fixture.h"

namespace esper::test::run_image_test {

using Catch::Matchers::ContainsSubstring;
using tolaria::CheckpointImage;
using tolaria::SaveSource;

namespace {

SaveSource source_of(SmallRun& it) { return {it.facts, *it.model, it.progress, it.policy}; }

std::map<std::string, torch::Tensor> tensors_of(const CheckpointImage& image) {
  std::map<std::string, torch::Tensor> tensors;
  for (const auto& [id, tensor] : image.tensors) tensors[id] = tensor;
  return tensors;
}

void move_parameters(step::Model& model) {
  const torch::NoGradGuard no_grad;
  for (const auto& group : model.network.parameter_groups()) {
    for (const auto& [id, tensor] : group.parameters) torch::Tensor(tensor).add_(1);
  }
}

}  // namespace

TEST_CASE("an image stays as the run was, whatever is trained after it") {
  SmallRun it;
  const auto before = it.bits();
  const CheckpointImage image = image_of(source_of(it));
  move_parameters(*it.model);
  it.progress.step = 99;
  CHECK(differing(tensors_of(image), before).empty());
  CHECK_FALSE(differing(before, it.bits()).empty());
  CHECK(image.info.step == 0);
  CHECK(image.run.at("progress").at("step") == 0);
}

TEST_CASE("an image of a copy shares its memory, and is the image of what was copied") {
  SmallRun it;
  const CheckpointImage before = image_of(source_of(it));
  const tolaria::StateCopy copy(*it.model, torch::kCPU);
  move_parameters(*it.model);
  const CheckpointImage image = image_of(source_of(it), &copy);
  CHECK(differing(tensors_of(image), tensors_of(before)).empty());
  const auto shared = copy.tensors();
  REQUIRE(image.tensors.size() == shared.size());
  for (std::size_t i = 0; i < shared.size(); ++i) {
    CAPTURE(shared[i].id);
    CHECK(image.tensors[i].id == before.tensors[i].id);
    CHECK(image.tensors[i].tensor.const_data_ptr() == shared[i].tensor.const_data_ptr());
  }
}

TEST_CASE("an image names the run's state, and has all that a run goes on from") {
  SmallRun it;
  it.facts.preprocessing = "{\"kind\":\"pixels\"}";
  it.facts.computed_on = "cpu";
  it.progress.epoch = 2;
  it.progress.step = 12;
  CHECK(state_of(source_of(it)) == tolaria::CheckpointInfo{12, 2, "hash"});
  const CheckpointImage image = image_of(source_of(it));
  CHECK(image.info == state_of(source_of(it)));
  CHECK(image.preprocessing == it.facts.preprocessing);
  CHECK(image.run.at("computed_on") == "cpu");
  CHECK(image.run.at("controller") == it.policy.state());
  CHECK(image.run.at("topology") == it.model->network.save_topology());
  CHECK(image.run.at("topology_hash") == leyline::topology_hash(kasmina::topology_of(image.run.at("topology"))));
}

TEST_CASE("an image has the time of all of the run's processes, and the run's own count stays that of earlier ones") {
  const auto time = std::make_shared<base::ManualTime>();
  SmallRun it;
  it.facts.clock = base::Clock(time);
  it.facts.started = it.facts.clock.now();
  it.progress.wall_s = 5;
  time->advance(std::chrono::seconds(7));
  CHECK(image_of(source_of(it)).run.at("progress").at("wall_s") == 12.0);
  CHECK(it.progress.wall_s == 5);
}

TEST_CASE("averaged statistics are computed for an image that is to be used, and come after the run's own tensors") {
  SmallRun it;
  SaveSource source = source_of(it);
  int calls = 0;
  source.averaged_statistics = [&] {
    ++calls;
    return std::vector<kasmina::NamedTensor>{{"averaged.norm.mean", at::ones({2})}};
  };
  const auto own = image_of(source).tensors;
  CHECK(calls == 0);
  const auto used = image_for_use(source).tensors;
  CHECK(calls == 1);
  REQUIRE(used.size() == own.size() + 1);
  CHECK(used.back().id == "averaged.norm.mean");

  source.averaged_statistics = nullptr;
  CHECK(image_for_use(source).tensors.size() == own.size());
}

TEST_CASE("a run that goes on from an image has the same bits, and the question that was open") {
  SmallRun it;
  REQUIRE(it.go().kind == tolaria::RunOutcome::Kind::kDone);
  leyline::Observation seen;
  seen.current_epoch = 3;
  it.policy.begin({seen});
  const CheckpointImage image = image_of(source_of(it));
  SmallRun resumed(small_config(), quiet(), image);
  CHECK(differing(it.bits(), resumed.bits()).empty());
  CHECK(resumed.progress.epoch == 3);
  CHECK(resumed.progress.step == it.progress.step);
  REQUIRE(resumed.policy.has_question());
  CHECK(resumed.policy.finish(4).question.observation.current_epoch == 3);
}

TEST_CASE("the network and the policy are restored from an image, or it is refused and the policy stays as it was") {
  SmallRun it;
  REQUIRE(it.go().kind == tolaria::RunOutcome::Kind::kDone);
  const CheckpointImage image = image_of(source_of(it));
  auto state = read_state(image, 6);
  REQUIRE(state);
  SmallRun resumed;
  REQUIRE(restore_run(image, *state, *resumed.model, torch::kCPU, resumed.policy));
  CHECK(differing(it.bits(), resumed.bits()).empty());
  CHECK(resumed.policy.state() == it.policy.state());

  SmallRun refused;
  const auto before = refused.policy.state();
  state->controller = R"({"question": 1})";
  CHECK_THAT(restore_run(image, *state, *refused.model, torch::kCPU, refused.policy).error_or(""),
             ContainsSubstring("open question"));
  CHECK(refused.policy.state() == before);
}

TEST_CASE("what an image has besides the network is read back whole, or refused with the reason") {
  SmallRun it;
  it.facts.computed_on = "cpu";
  it.progress.epoch = 1;
  it.progress.batch = 2;
  it.progress.step = 8;
  it.progress.changes = {{2, "training.optimizer.lr", "0.01", 1}};
  const CheckpointImage image = image_of(source_of(it));
  const auto state = read_state(image, 6);
  REQUIRE(state);
  CHECK(to_json(state->progress) == image.run.at("progress"));
  CHECK(state->controller == it.policy.state());
  CHECK(state->computed_on == "cpu");

  const auto refusal = [&](const std::string& place, const nlohmann::json& value) {
    CheckpointImage forged = image;
    forged.run[nlohmann::json::json_pointer(place)] = value;
    return read_state(forged, 6).error_or("");
  };
  CHECK(refusal("/progress/wall_s", 1e300) == "wall_s is 1e+300, which is not a possible duration");
  CHECK(refusal("/progress/step", 9) == "run.json belongs to another step");
  CHECK(refusal("/progress/safety", nlohmann::json{{"good_step", 9}}) ==
        "run.json: safety.good_step is 9, beyond step 8");
  CHECK(refusal("/progress/batch", 7) == "its cursor is beyond the end of the epoch");
  CHECK(refusal("/progress/changes/0/epoch", 3) ==
        "run.json has changes of settings after the epoch that it was saved in");
  CHECK_THAT(refusal("/progress/changes", 1), ContainsSubstring("changes: "));
  CHECK(refusal("/progress", nullptr) == "run.json: expected a list or an object, found null");
  CHECK(refusal("/controller", 1) == "run.json: type must be string, but is number");
  CHECK(refusal("/computed_on", 1) == "run.json: type must be string, but is number");
}

}  // namespace esper::test::run_image_test
