#include "tolaria/evaluation/counterfactual.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <csignal>

#include "base/statistics.h"
#include "kasmina/network/network_seeds.h"
#include "support/models/grown_network.h"
#include "support/run_fixture.h"
#include "tolaria/evaluation/measure.h"

namespace esper::test::counterfactual_test {

using step::follow_structure;
using tolaria::BudgetLimit;
using tolaria::Counterfactual;
using tolaria::counterfactual_is_due;
using tolaria::measure_counterfactual;
using tolaria::RunOutcome;
using tolaria::validation_pass;

namespace {

using Catch::Matchers::WithinAbs;
using End = Counterfactual::End;

// 100 samples to validate, and as many slots as there are alphas.
config::RunConfig config_for(std::size_t seeds) {
  auto config = small_config();
  config.data.synthetic = {.samples = 400, .features = 6, .classes = 3, .noise = 1.5};
  config.data.batch_size = 32;
  config.host.hidden.assign(seeds, 10);
  config.growth.blueprints = {"mlp"};
  config.growth.max_seeds = static_cast<int>(seeds);
  config.growth.counterfactual.every_epochs = 1;
  return config;
}

// A run whose seeds all have something to say, and whose host carries it on: its weights are scaled up to where ReLUs
// keep the variance (He et al. 2015).
struct GrownRun : SmallRun {
  GrownRun(const config::RunConfig& config, const std::vector<double>& alphas) : SmallRun(config) {
    auto& network = model->network;
    for (std::size_t i = 0; i < alphas.size(); ++i) {
      const auto slot = "r0c" + std::to_string(i);
      network.apply(tests::germination(static_cast<int>(i), slot, "mlp"), run.data.probe);
    }
    follow_structure(*model);
    const at::NoGradGuard no_grad;
    at::manual_seed(2);
    for (const auto& group : model->state.groups) {
      for (const auto& parameter : group.parameters.views) {
        if (group.id == "host") parameter.detach().mul_(std::sqrt(6.0));
        if (group.id != "host") parameter.detach().add_(at::randn(parameter.sizes()), 0.2);
      }
    }
    blend(alphas);
  }
  void blend(const std::vector<double>& alphas) {
    tests::blend_to(model->network, alphas);
    follow_structure(*model);
  }
  double accuracy() { return validation_pass(*model, *validation_data, torch::kCPU).score; }
};

}  // namespace

TEST_CASE("a seed's value is what the network loses without it, in all combinations of the others") {
  const std::vector<double> alphas = {0.9, 1, 0.3};
  GrownRun it(config_for(3), alphas);
  const auto before = it.bits();
  const auto measured = measure_counterfactual(it.evaluation, 1);
  CHECK(differing(before, it.bits()) == std::vector<std::string>{});
  REQUIRE(measured.end == End::kMeasured);
  CHECK(measured.configurations == 8);
  CHECK(measured.permutations == 0);
  CHECK(measured.latency_ms > 0);
  CHECK(measured.accuracy == it.accuracy());
  REQUIRE(measured.seeds.size() == 3);
  REQUIRE(measured.pairs.size() == 3);
  double v[8] = {};
  for (int on = 0; on < 8; ++on) {
    auto some = alphas;
    for (int i = 0; i < 3; ++i) {
      if ((on >> i & 1) == 0) some[static_cast<std::size_t>(i)] = 0;
    }
    it.blend(some);
    v[on] = 100 * it.accuracy();
  }
  CAPTURE(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
  for (const int fewer : {3, 5, 6}) REQUIRE(v[7] != v[fewer]);  // each of them is heard
  CHECK_THAT(100 * measured.accuracy_without_seeds, WithinAbs(v[0], 1e-9));
  const auto& first = measured.seeds[0];
  CHECK(first.seed_id == "seed-0001");
  CHECK_THAT(100 * first.accuracy_without, WithinAbs(v[6], 1e-9));
  CHECK_THAT(first.contribution.value, WithinAbs(v[7] - v[6], 1e-9));
  REQUIRE(first.shapley);
  const double by_hand = (v[1] - v[0]) / 3 + (v[3] - v[2]) / 6 + (v[5] - v[4]) / 6 + (v[7] - v[6]) / 3;
  CHECK_THAT(first.shapley->value, WithinAbs(by_hand, 1e-9));
  const auto& pair = measured.pairs[0];
  CHECK(pair.first == "seed-0001");
  CHECK(pair.second == "seed-0002");
  const double together = (v[3] - v[1] - v[2] + v[0]) / 2 + (v[7] - v[5] - v[6] + v[4]) / 2;
  CHECK_THAT(pair.interaction.value, WithinAbs(together, 1e-9));
  double sum = 0;
  for (const auto& seed : measured.seeds) {
    sum += seed.shapley->value;
    REQUIRE(seed.contribution.standard_error);
    REQUIRE(seed.shapley->standard_error);
    // A difference of shares over 100 samples cannot deviate by more than a point of 10 of them.
    CHECK(*seed.contribution.standard_error < 11);
  }
  CHECK(*first.contribution.standard_error > 0);
  CHECK_THAT(sum, WithinAbs(v[7] - v[0], 1e-9));
}

TEST_CASE("more seeds than combinations fit are sampled within the budget, near to the exact values") {
  auto config = config_for(6);
  const std::vector<double> alphas = {0.5, 1, 0.8, 1, 0.4, 1};
  config.growth.counterfactual.max_configurations = 64;
  GrownRun exactly(config, alphas);
  const auto exact = measure_counterfactual(exactly.evaluation, 1);
  REQUIRE(exact.configurations == 64);
  config.growth.counterfactual.max_configurations = 63;
  config.growth.counterfactual.pairs = false;  // leaves more of the budget to orders
  GrownRun drawn(config, alphas);
  const auto sampled = measure_counterfactual(drawn.evaluation, 1);
  REQUIRE(sampled.end == End::kMeasured);
  CHECK(sampled.configurations <= 63);
  CHECK(sampled.permutations >= 10);
  double sum = 0;
  int worth_something = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(sampled.seeds[i].accuracy_without == exact.seeds[i].accuracy_without);
    CHECK(sampled.seeds[i].contribution.standard_error == exact.seeds[i].contribution.standard_error);
    REQUIRE(sampled.seeds[i].shapley);
    sum += sampled.seeds[i].shapley->value;
    REQUIRE(sampled.seeds[i].shapley->standard_error);
    const double off = std::abs(sampled.seeds[i].shapley->value - exact.seeds[i].shapley->value);
    CHECK(off < 5 * *sampled.seeds[i].shapley->standard_error + 1e-9);
    worth_something += *sampled.seeds[i].shapley->standard_error > 0.1 ? 1 : 0;
  }
  CHECK(worth_something >= 3);
  CHECK_THAT(sum, WithinAbs(100 * (exact.accuracy - exact.accuracy_without_seeds), 1e-9));
  CHECK(sampled.pairs.empty());
  const auto again = measure_counterfactual(drawn.evaluation, 1);
  CHECK(again.seeds[0].shapley->value == sampled.seeds[0].shapley->value);
  drawn.facts.config.growth.counterfactual.pairs = true;
  const auto with_pairs = measure_counterfactual(drawn.evaluation, 1);
  CHECK(with_pairs.configurations <= 63);
  CHECK(with_pairs.permutations >= 2);
  CHECK_FALSE(with_pairs.pairs.empty());
}

TEST_CASE("a budget too small for a draw still measures what the gate needs") {
  auto config = config_for(3);
  config.growth.counterfactual.max_configurations = 2;
  GrownRun it(config, {1, 1, 1});
  const auto measured = measure_counterfactual(it.evaluation, 1);
  CHECK(measured.end == End::kMeasured);
  CHECK(measured.configurations == 5);
  REQUIRE(measured.seeds.size() == 3);
  CHECK_FALSE(measured.seeds[0].shapley);
  CHECK(measured.pairs.empty());
  REQUIRE(measured.limit);
  CHECK(measured.limit->omitted == BudgetLimit::Omitted::kShapleyValues);
  CHECK(measured.limit->needed == 8);
}

TEST_CASE("with the default budget up to eight seeds get Shapley values with an error, as do some more without pairs") {
  for (const std::size_t seeds : {6u, 7u, 8u, 9u, 14u}) {
    INFO(seeds << " seeds");
    GrownRun it(config_for(seeds), std::vector<double>(seeds, 1));
    const auto measured = measure_counterfactual(it.evaluation, 1);
    REQUIRE(measured.end == End::kMeasured);
    CHECK(measured.configurations <= it.facts.config.growth.counterfactual.max_configurations);
    CHECK((measured.permutations == 0) == (seeds == 6));  // exact
    if (seeds > 6) CHECK(measured.permutations >= 4);     // two draws of an order and its reverse
    REQUIRE(measured.seeds.size() == seeds);
    for (const auto& seed : measured.seeds) {
      REQUIRE(seed.shapley);
      REQUIRE(seed.shapley->half_width);
      CHECK(*seed.shapley->half_width > 0);
    }
    CHECK(measured.pairs.empty() == (seeds > 8));
    REQUIRE(measured.limit.has_value() == (seeds > 8));
    if (measured.limit) CHECK(measured.limit->omitted == BudgetLimit::Omitted::kInteractions);
    if (seeds == 9) CHECK(measured.limit->needed == 9 + 2 + 2 * 4 * 7);
  }
}

TEST_CASE("what the budget does not hold is said, with a budget that does") {
  auto config = config_for(8);
  const auto omitted_at = [&](int budget) {
    config.growth.counterfactual.max_configurations = budget;
    GrownRun it(config, std::vector<double>(8, 1));
    const auto measured = it.measure();
    const auto events = it.events("tolaria.counterfactual_limited");
    const auto& limit = measured.counterfactual.limit;
    REQUIRE(events.size() == (limit ? 1u : 0u));
    if (!limit) return std::string();
    CHECK(events[0].attributes.at("seeds") == "8");
    CHECK(events[0].attributes.at("max_configurations") == std::to_string(budget));
    CHECK(events[0].attributes.at("needed") == std::to_string(limit->needed));
    return events[0].attributes.at("omitted") + " " + std::to_string(limit->needed);
  };
  CHECK(omitted_at(20) == "Shapley values 34");
  CHECK(omitted_at(34) == "interactions 58");
  CHECK(omitted_at(58).empty());
}

TEST_CASE("an interval is Student's, and never narrower than the rule of three allows") {
  GrownRun it(config_for(2), {1, 1});
  const auto measured = measure_counterfactual(it.evaluation, 1);
  const double least = 100 * base::rule_of_three(100);
  for (const auto& seed : measured.seeds) {
    REQUIRE(seed.contribution.half_width);
    const double by_t = base::student_t_quantile(0.975, 99) * *seed.contribution.standard_error;
    CHECK_THAT(*seed.contribution.half_width, WithinAbs(std::max(by_t, least), 1e-9));
  }
  // Seeds that make no difference to any sample.
  const at::NoGradGuard no_grad;
  for (const auto& group : it.model->state.groups) {
    if (group.id == "host") continue;
    for (const auto& parameter : group.parameters.views) parameter.detach().zero_();
  }
  const auto idle = measure_counterfactual(it.evaluation, 1);
  for (const auto& seed : idle.seeds) {
    CHECK(seed.contribution.value == 0);
    CHECK(seed.contribution.standard_error == 0.0);
    CHECK_THAT(*seed.contribution.half_width, WithinAbs(3, 1e-9));
    CHECK_THAT(*seed.shapley->half_width, WithinAbs(3, 1e-9));
  }
  REQUIRE(idle.pairs.size() == 1);
  CHECK_THAT(*idle.pairs[0].interaction.half_width, WithinAbs(6, 1e-9));
}

TEST_CASE("pairs are omitted if the run is configured so") {
  auto config = config_for(3);
  config.growth.counterfactual.pairs = false;
  GrownRun it(config, {1, 1, 1});
  CHECK(measure_counterfactual(it.evaluation, 1).pairs.empty());
}

TEST_CASE("a measurement past its deadline is stopped, reported, and not used by a gate") {
  auto config = config_for(3);
  config.growth.counterfactual.deadline = std::chrono::nanoseconds(1);
  GrownRun it(config, {1, 1, 1});
  const auto measured = it.measure();
  CHECK(measured.counterfactual.end == End::kLate);
  CHECK_FALSE(measured.interrupted);
  CHECK(measured.accuracy_without.empty());
  const auto events = it.events("tolaria.counterfactual_late");
  REQUIRE(events.size() == 1);
  CHECK(events[0].attributes.at("epoch") == "1");
}

TEST_CASE("a signal ends the measurement and the run") {
  GrownRun it(config_for(3), {1, 1, 1});
  raise(SIGTERM);
  CHECK(measure_counterfactual(it.evaluation, 1).end == End::kInterrupted);
  CHECK(it.measure().interrupted);
}

TEST_CASE("a measurement is due every so many epochs, and always for a seed on probation") {
  auto config = config_for(2);
  config.growth.counterfactual.every_epochs = 3;
  GrownRun it(config, {0.5, 0.5});
  const auto due_in = [&](std::uint32_t epoch) {
    return counterfactual_is_due(it.model->network, it.facts.config.growth.counterfactual, epoch);
  };
  CHECK_FALSE(due_in(1));
  CHECK(due_in(3));
  CHECK_FALSE(due_in(4));
  CHECK(due_in(6));
  it.facts.config.growth.counterfactual.every_epochs = 0;
  CHECK_FALSE(due_in(6));
  it.blend({0.5, 1});
  CHECK(due_in(4));
  GrownRun none(config, {});
  CHECK_FALSE(counterfactual_is_due(none.model->network, config.growth.counterfactual, 3));
}

TEST_CASE("the epoch's telemetry reports the values of seeds and pairs, and the gate repeats them") {
  auto config = config_for(2);
  config.growth.gates.min_contribution_points = -100;
  GrownRun it(config, {1, 1});
  it.facts.config.epochs = 2;
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  for (const char* name : {"kasmina.seed.contribution_points", "kasmina.seed.contribution_stderr_points",
                           "kasmina.seed.contribution_half_width_points", "kasmina.seed.shapley_points",
                           "kasmina.seed.shapley_stderr_points", "kasmina.seed.shapley_half_width_points"}) {
    INFO(name);
    CHECK(it.values(name).size() == 4);  // two seeds, two epochs
  }
  CHECK(it.values("kasmina.seeds.interaction_points").size() == 2);
  CHECK(it.values("kasmina.seeds.interaction_stderr_points").size() == 2);
  CHECK(it.values("kasmina.seeds.interaction_half_width_points").size() == 2);
  CHECK(it.values("tolaria.counterfactual.configurations") == std::vector<double>{4, 4});
  CHECK(it.values("tolaria.counterfactual.permutations") == std::vector<double>{0, 0});
  CHECK(it.values("tolaria.counterfactual.latency_ms").size() == 2);
  const auto without = it.values("tolaria.counterfactual.accuracy_without_seeds");
  const auto with = it.values("tolaria.validation.accuracy");
  const auto shapley = it.values("kasmina.seed.shapley_points");
  REQUIRE(without.size() == 2);
  CHECK_THAT(shapley[2] + shapley[3], WithinAbs(100 * (with.back() - without[1]), 1e-9));

  leyline::AdaptationCommand keep;
  keep.command_id = "keep";
  keep.command_type = leyline::CommandType::kSeed;
  keep.target_seed_id = "seed-0001";
  keep.seed_operation.emplace();
  keep.seed_operation->operation = leyline::SeedOperation::kFossilize;
  const auto events = it.model->network.apply(keep, it.run.data.probe);
  REQUIRE(events[0].code == "G5");
  CHECK(events[0].passed);
  const auto is_reported = [&](const char* name) {
    return std::ranges::any_of(events[0].values, [&](const auto& value) { return value.first == name; });
  };
  CHECK(is_reported("contribution_points"));
  CHECK(is_reported("contribution_stderr_points"));
  CHECK(is_reported("contribution_half_width_points"));
  CHECK(is_reported("shapley_points"));
  CHECK(is_reported("shapley_stderr_points"));
  CHECK(is_reported("shapley_half_width_points"));
}

TEST_CASE("a seed's value survives a checkpoint") {
  GrownRun it(config_for(2), {1, 1});
  it.facts.config.epochs = 1;
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  const auto saved = it.model->network.save_topology();
  GrownRun other(config_for(2), {1, 1});
  other.model->network.restore_topology(saved);
  CHECK(other.model->network.save_topology() == saved);
  const auto seed = kasmina::export_seed_states(other.model->network.state()).at(0);
  CHECK(seed.figures.shapley_points);
  CHECK(seed.figures.contribution_stderr_points);
  CHECK(seed.figures.contribution_half_width_points);
  CHECK(seed.figures.shapley_half_width_points);
  // Before half widths were recorded.
  auto older = saved;
  for (auto& slot : older.at("slots")) {
    for (const char* name : {"contribution_half_width_points", "shapley_half_width_points"}) {
      REQUIRE(slot.at("seed").at("record").erase(name) == 1);
    }
  }
  other.model->network.restore_topology(older);
  CHECK(kasmina::export_seed_states(other.model->network.state()).at(0).figures.shapley_points);
  CHECK_FALSE(kasmina::export_seed_states(other.model->network.state()).at(0).figures.shapley_half_width_points);
}

}  // namespace esper::test::counterfactual_test
