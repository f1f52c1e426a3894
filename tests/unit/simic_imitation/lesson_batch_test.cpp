#include "simic/imitation/lesson_batch.h"

#include <ATen/Functions.h>

#include <catch2/catch_test_macros.hpp>

#include "tamiyo/network/check_graph.h"
#include "tamiyo/network/unfolded_network.h"
#include "unit/simic_imitation/taught_run.h"

namespace esper::test::lesson_batch_test {

using namespace esper;
using namespace esper::simic;
using tamiyo::NodeType;

namespace {

constexpr double kTolerance = 1e-4;

void check_close(const at::Tensor& together, const at::Tensor& alone) {
  INFO(at::cat({together, alone}));
  CHECK(at::allclose(together, alone, kTolerance, kTolerance));
}

}  // namespace

TEST_CASE("graphs side by side have the answers that they have alone") {
  std::vector<Lesson> lessons(3);
  for (std::size_t i = 0; i < lessons.size(); ++i)
    lessons[i].graph = tamiyo::random_graph(tamiyo::kGraphShapes[i], i + 1);
  const auto batch = join_lessons(pointers_to(lessons));
  const auto weights = tamiyo::dense_weights();
  const auto together = tamiyo::run_side_by_side(weights, batch.graphs);
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    CAPTURE(i);
    const auto alone = tamiyo::run_unfolded(weights, lessons[i].graph).heads;
    const auto row = static_cast<std::int64_t>(i);
    check_close(together.policy_logits[row], alone.policy_logits);
    check_close(together.policy_params[row], alone.policy_params);
    check_close(together.blending_logits[row], alone.blending_logits);
    check_close(together.schedule[row], alone.schedule);
    check_close(together.risk_logits[row], alone.risk_logits);
    check_close(together.value[row], alone.value);
    const auto scores_of = [&](const at::Tensor& all, NodeType type) {
      const auto place = static_cast<std::size_t>(type);
      return all.narrow(0, batch.first[i][place], lessons[i].graph.nodes[place].count);
    };
    check_close(scores_of(together.seed_scores, NodeType::kSeed), alone.seed_scores);
    check_close(scores_of(together.blueprint_scores, NodeType::kBlueprint), alone.blueprint_scores);
  }
}

TEST_CASE("a batch is a graph with as many global nodes as lessons") {
  const auto lessons = simple_lessons(3);
  const auto batch = join_lessons(pointers_to(lessons));
  CHECK(batch.graphs.nodes[0].count == 3);
  CHECK(batch.first[2][1] == 4);
  auto one = batch.graphs;
  one.nodes[0].count = 1;
  one.nodes[0].features.resize(tamiyo::kNodeFeatures[0]);
  CHECK(!tamiyo::check_graph(one));  // its edges reach the other global nodes
}

}  // namespace esper::test::lesson_batch_test
