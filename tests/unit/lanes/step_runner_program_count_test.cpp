// A stage is data: over a seed's whole life only a change of structure makes a new program.

#include <catch2/catch_test_macros.hpp>
#include <set>

#include "support/models/growing_model.h"

namespace esper::test::step_runner_program_count_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using leyline::SeedOperation;
using leyline::Stage;

namespace {

// The same life twice, in eager and in the replay lane; the second one's recorded programs are counted.
class ScratchModels {
 public:
  explicit ScratchModels(const LaneCase& c) : eager_(c, Lane::kEager), replay_(c, Lane::kReplay) {}

  void issue(SeedOperation operation, const std::string& seed_id) {
    for (GrowingModel* each : {&eager_, &replay_}) {
      REQUIRE_FALSE(GrowingModel::refused(each->apply(each->command(operation, seed_id))));
    }
  }
  void germinate(const std::string& slot, const std::string& blueprint) {
    for (GrowingModel* each : {&eager_, &replay_}) {
      REQUIRE_FALSE(GrowingModel::refused(each->apply(each->germination(slot, blueprint))));
    }
  }
  void end_epochs(int count) {
    for (int i = 0; i < count; ++i) {
      for (GrowingModel* each : {&eager_, &replay_}) each->end_epoch(each->good_facts());
      check_alphas();
      run_steps();
    }
  }
  // After some steps: how many programs there have been. In this lane each is compared once, when it is recorded.
  std::int64_t programs() {
    run_steps();
    const auto& figures = replay_.runner->figures();
    CHECK(figures.checks_failed == 0);
    CHECK(figures.in_use == Lane::kReplay);
    // Of each program: a warm-up step, the recorded one, and the compared one are eager's.
    CHECK(figures.steps_in(Lane::kEager) == 3 * figures.checks);
    return figures.checks;
  }
  Stage stage(const std::string& seed_id) const { return replay_.stage(seed_id); }
  const std::set<float>& alphas() const { return alphas_; }

 private:
  void run_steps() {
    eager_.steps(5);
    replay_.steps(5);
    CHECK(first_difference(copies_of(*eager_.model), copies_of(*replay_.model)) == "");
  }
  void check_alphas() {
    for (const auto& [id, tensor] : replay_.model->network.scalars()) {
      if (id.ends_with(".alpha")) alphas_.insert(tensor.item<float>());
    }
  }

  GrowingModel eager_, replay_;
  std::set<float> alphas_;
};

}  // namespace

TEST_CASE("germinate, prune and fossilise make a new program, nothing else in a seed's life does") {
  at::set_num_threads(1);
  for (const auto composition : {config::Composition::kAdd, config::Composition::kMultiply, config::Composition::kGate,
                                 config::Composition::kConvex, config::Composition::kResidual,
                                 config::Composition::kChannel, config::Composition::kConfidence}) {
    CAPTURE(static_cast<int>(composition));
    LaneCase c = growing_case();
    c.config.growth.composition = composition;
    ScratchModels life(c);
    CHECK(life.programs() == 1);

    life.germinate("r0c0", "mlp");
    CHECK(life.programs() == 2);
    life.issue(SeedOperation::kStartTraining, "seed-0001");
    CHECK(life.programs() == 2);
    life.end_epochs(2);
    life.issue(SeedOperation::kStartGrafting, "seed-0001");
    CHECK(life.programs() == 2);
    life.end_epochs(4);
    CHECK(life.alphas().size() >= 4);  // 0 and the steps of the blend
    life.issue(SeedOperation::kStabilize, "seed-0001");
    CHECK(life.programs() == 2);
    life.end_epochs(1);
    life.issue(SeedOperation::kEvaluate, "seed-0001");
    CHECK(life.programs() == 2);
    life.end_epochs(1);
    life.issue(SeedOperation::kFossilize, "seed-0001");
    CHECK(life.stage("seed-0001") == Stage::kFossilized);
    CHECK(life.programs() == 3);
    life.end_epochs(2);
    CHECK(life.programs() == 3);
  }
}

TEST_CASE("a seed that blends out keeps its program until it is gone; so does a slot that rests") {
  at::set_num_threads(1);
  ScratchModels life(growing_case());
  life.germinate("r0c1", "lora");
  life.issue(SeedOperation::kStartTraining, "seed-0001");
  life.end_epochs(1);
  life.issue(SeedOperation::kStartGrafting, "seed-0001");
  life.end_epochs(2);
  CHECK(life.programs() == 1);
  life.issue(SeedOperation::kCancel, "seed-0001");
  for (int epoch = 0; epoch < 100 && life.stage("seed-0001") == Stage::kBlending; ++epoch) {
    CHECK(life.programs() == 1);
    life.end_epochs(1);
  }
  CHECK(life.stage("seed-0001") != Stage::kBlending);
  CHECK(life.programs() == 2);

  life.germinate("r0c2", "mlp_small");
  CHECK(life.programs() == 3);
  life.issue(SeedOperation::kCull, "seed-0002");
  CHECK(life.programs() == 4);
  life.end_epochs(4);  // CULLED, EMBARGOED, RESETTING, DORMANT
  CHECK(life.programs() == 4);
}

}  // namespace esper::test::step_runner_program_count_test
