#include "simic/imitation/lessons.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "simic/imitation/teacher.h"
#include "tamiyo/gnn_controller.h"
#include "tamiyo/graph/build_graph.h"
#include "tamiyo/network/check_graph.h"
#include "unit/simic_imitation/taught_run.h"

namespace esper::test::lessons_test {

using namespace esper;
using namespace esper::simic;
using Catch::Approx;

namespace {

struct Logged {
  history::DecisionLog log;
  std::vector<std::optional<leyline::Decision>> answers;

  explicit Logged(std::vector<history::DecisionEntry> entries) : log(log_of(std::move(entries))) {
    for (const auto& entry : log.entries) answers.emplace_back(entry.record.answer.decision);
  }
  TaughtRun taught() const {
    return {log, [](std::size_t) { return SightSettings{4, false}; }, answers};
  }
};

double mean_of(const tamiyo::Normaliser& normaliser, tamiyo::Statistic statistic) {
  return normaliser.moments[static_cast<std::size_t>(statistic)].mean;
}

double variance_of(const tamiyo::Normaliser& normaliser, tamiyo::Statistic statistic) {
  return normaliser.moments[static_cast<std::size_t>(statistic)].variance;
}

}  // namespace

TEST_CASE("each decision is a lesson of what the network would have seen") {
  Logged run({entry_after(1, {}), entry_after(2, {germinate("r0c1", "norm")}), entry_after(3, {})});
  const auto found = lessons_of(run.taught(), {}, 7);
  REQUIRE(found.lessons.size() == 3);
  CHECK(found.left_out.empty());
  CHECK(found.lessons[1].target.action == tamiyo::Action::kGerminate);
  CHECK(found.lessons[1].run == 7);
  CHECK(found.lessons[1].epoch == 2);

  tamiyo::GraphBuilder builder;
  tamiyo::Normaliser normaliser;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto seen = tamiyo::without_times(run.log.entries[i].record.observation);
    builder.read(seen);
    builder.update(normaliser);
    const auto& graph = builder.build(normaliser).graph;
    CHECK(found.lessons[i].graph.nodes[0].features == graph.nodes[0].features);
    CHECK(tamiyo::check_graph(found.lessons[i].graph).has_value());
  }
}

TEST_CASE("what the network cannot choose, and what has no answer, is left out and said") {
  Logged run({entry_after(1, {germinate("r9c9", "norm")}), entry_after(2, {}), entry_after(3, {})});
  run.answers[1].reset();
  const auto found = lessons_of(run.taught(), {}, 0);
  CHECK(found.lessons.size() == 1);
  CHECK(found.unanswered == 1);
  REQUIRE(found.left_out.size() == 1);
  CHECK_THAT(found.left_out[0], Catch::Matchers::StartsWith("epoch 1: slot r9c9"));
}

TEST_CASE("the normaliser of a policy has the moments of all runs that it learned from") {
  const Logged one({entry_after(2, {}), entry_after(4, {})}), other({entry_after(6, {})});
  const auto normaliser = normaliser_over({one.taught(), other.taught()});
  using S = tamiyo::Statistic;
  CHECK(mean_of(normaliser, S::kGlobalEpoch) == Approx(4));
  CHECK(variance_of(normaliser, S::kGlobalEpoch) == Approx(8.0 / 3));
  CHECK(variance_of(normaliser, S::kLoss) == Approx(tamiyo::Normaliser::kLeastVariance));
  CHECK(mean_of(normaliser, S::kHookLatencyMs) == Approx(12));  // never measured: its prior
}

}  // namespace esper::test::lessons_test
