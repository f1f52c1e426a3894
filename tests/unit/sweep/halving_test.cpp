#include "sweep/halving.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <set>

namespace esper::test::halving_test {

using namespace esper::sweep;

namespace {

using State = SeedProgress::State;
using Kind = HalvingDecision::Kind;
using Decisions = std::vector<HalvingDecision>;

constexpr std::size_t kAll = 1000;
const HalvingRules kRules{{1, 3, 9}, 3, Goal::kMaximize};

// With one seed that has these results.
ConfigurationProgress reached(std::vector<double> results) {
  const std::size_t rung = results.size() - 1;
  return {{{State::kReached, std::move(results)}}, rung};
}

HalvingRules rules_of(HalvingConfig halving) {
  Sweep sweep;
  sweep.settings.halving = halving;
  return halving_rules(sweep);
}

// Configurations of which each has a figure for every rung, and jobs that end when the test says so.
struct Simulation {
  HalvingRules rules;
  std::vector<std::vector<double>> figures;  // by configuration and rung
  std::vector<ConfigurationProgress> progress = std::vector<ConfigurationProgress>(figures.size());
  std::vector<std::size_t> running = {};

  void begin(std::size_t most) {
    for (const auto& decision : decide(rules, progress, most)) {
      if (decision.kind == Kind::kKeepPaused) continue;
      auto& one = progress.at(decision.configuration);
      REQUIRE(decision.rung == (one.seeds.empty() ? 0 : one.rung + 1));
      REQUIRE(decision.epochs == rules.rungs.at(decision.rung));
      if (one.seeds.empty()) one.seeds.resize(1);
      one.rung = decision.rung;
      one.seeds[0].state = State::kRunning;
      running.push_back(decision.configuration);
    }
  }

  void end(std::size_t index) {
    const std::size_t configuration = running.at(index);
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(index));
    auto& one = progress[configuration];
    one.seeds[0].results.push_back(figures[configuration][one.rung]);
    one.seeds[0].state = State::kReached;
  }

  // The configurations that got to the rung, or beyond.
  std::set<std::size_t> at(std::size_t rung) const {
    std::set<std::size_t> found;
    for (std::size_t i = 0; i < progress.size(); ++i) {
      if (progress[i].seeds.at(0).results.size() > rung) found.insert(i);
    }
    return found;
  }

  // The best count / factor of those at the rung, by sorting.
  std::set<std::size_t> best_at(std::size_t rung) const {
    const auto there = at(rung);
    std::vector<std::size_t> order(there.begin(), there.end());
    const double sign = rules.goal == Goal::kMaximize ? -1 : 1;
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(sign * figures[i][rung], i); });
    order.resize(order.size() / static_cast<std::size_t>(rules.factor));
    return {order.begin(), order.end()};
  }
};

Simulation random_simulation(std::mt19937_64& random) {
  const int factor = 2 + static_cast<int>(random() % 3);
  HalvingRules rules{{1}, factor, random() % 2 == 0 ? Goal::kMaximize : Goal::kMinimize};
  while (rules.rungs.size() < 1 + random() % 4) rules.rungs.push_back(rules.rungs.back() * factor);
  std::vector<std::vector<double>> figures(1 + random() % 40);
  for (auto& of_one : figures) {
    // Few different ones, so that some are equal.
    for (std::size_t rung = 0; rung < rules.rungs.size(); ++rung) of_one.push_back(static_cast<double>(random() % 12));
  }
  return {rules, figures};
}

}  // namespace

TEST_CASE("rungs are min_epochs times powers of the factor, the last one max_epochs") {
  CHECK(rules_of({1, 3, 27}).rungs == std::vector<int>{1, 3, 9, 27});
  CHECK(rules_of({1, 3, 80}).rungs == std::vector<int>{1, 3, 9, 80});
  CHECK(rules_of({1, 3, 81}).rungs == std::vector<int>{1, 3, 9, 27, 81});
  CHECK(rules_of({2, 2, 4}).rungs == std::vector<int>{2, 4});
  CHECK(rules_of({1, 1000, 1'000'000}).rungs == std::vector<int>{1, 1000, 1'000'000});
  CHECK(fewest_for_last_rung(rules_of({1, 3, 27})) == 27);
  CHECK(fewest_for_last_rung(rules_of({2, 2, 4})) == 2);
}

TEST_CASE("a hand-computed example") {
  // Rung 0 has six results: the best two, 1 (0.9) and 4 (0.8), may go on. 1 is at rung 1 already, where one result of
  // one is no third. 6 is running, 7 not started.
  std::vector<ConfigurationProgress> progress{reached({0.1}), reached({0.9, 0.95}), reached({0.3}), reached({0.2}),
                                              reached({0.8}), reached({0.5}),       {{{}}, 0},      {}};
  CHECK(decide(kRules, progress, kAll) == Decisions{{Kind::kPromote, 4, 1, 3},
                                                    {Kind::kStart, 7, 0, 1},
                                                    {Kind::kKeepPaused, 1, 1, 3},
                                                    {Kind::kKeepPaused, 5, 0, 1},
                                                    {Kind::kKeepPaused, 2, 0, 1},
                                                    {Kind::kKeepPaused, 3, 0, 1},
                                                    {Kind::kKeepPaused, 0, 0, 1}});
  // 6 comes in with 0.85: still two of seven, and now it is one of them.
  progress[6] = reached({0.85});
  CHECK(decide(kRules, progress, 1) == Decisions{{Kind::kPromote, 6, 1, 3},
                                                 {Kind::kKeepPaused, 1, 1, 3},
                                                 {Kind::kKeepPaused, 4, 0, 1},
                                                 {Kind::kKeepPaused, 5, 0, 1},
                                                 {Kind::kKeepPaused, 2, 0, 1},
                                                 {Kind::kKeepPaused, 3, 0, 1},
                                                 {Kind::kKeepPaused, 0, 0, 1}});
}

TEST_CASE("the highest rung is served first") {
  const std::vector<ConfigurationProgress> progress{
      reached({0.9, 0.7}), reached({0.8, 0.6}), reached({0.7, 0.5}), reached({0.6}), reached({0.5}), reached({0.4}),
      reached({0.65}),     reached({0.1}),      reached({0.2}),      reached({0.3}), reached({0.3}), reached({0.3})};
  const auto decisions = decide(kRules, progress, 2);
  REQUIRE(decisions.size() > 2);
  CHECK(decisions[0] == HalvingDecision{Kind::kPromote, 0, 2, 9});
  CHECK(decisions[1] == HalvingDecision{Kind::kPromote, 6, 1, 3});
}

TEST_CASE("less is better where the goal is to minimize, and of equal results the earlier configuration") {
  const HalvingRules rules{{1, 2}, 2, Goal::kMinimize};
  const std::vector<ConfigurationProgress> progress{reached({0.5}), reached({0.2}), reached({0.2})};
  CHECK(decide(rules, progress, kAll)[0] == HalvingDecision{Kind::kPromote, 1, 1, 2});
}

TEST_CASE("what failed or diverged counts as worst and is never promoted") {
  const HalvingRules rules{{1, 2}, 2, Goal::kMinimize};
  const ConfigurationProgress failed{{{State::kFailed, {}}}, 0}, diverged = reached({std::nan("")});
  const std::vector<ConfigurationProgress> progress{failed, reached({5}), diverged, failed};
  CHECK(decide(rules, progress, kAll) == Decisions{{Kind::kPromote, 1, 1, 2}});
  CHECK(decide(rules, std::vector{failed, failed, diverged}, kAll).empty());
}

TEST_CASE("a configuration goes on only when all its seeds are there, and none has failed") {
  const HalvingRules rules{{1, 2}, 2, Goal::kMaximize};
  ConfigurationProgress best{{{State::kReached, {9}}, {State::kRunning, {}}}, 0};
  const ConfigurationProgress other{{{State::kReached, {1}}, {State::kReached, {1}}}, 0};
  CHECK(decide(rules, std::vector{best, other}, kAll) == Decisions{{Kind::kKeepPaused, 1, 0, 1}});
  best.seeds[1] = {State::kReached, {9}};
  CHECK(decide(rules, std::vector{best, other}, kAll)[0] == HalvingDecision{Kind::kPromote, 0, 1, 2});
  best.seeds[1] = {State::kRunning, {}};
  best.seeds[0] = {State::kFailed, {}};
  CHECK(decide(rules, std::vector{best, other}, kAll) == Decisions{{Kind::kPromote, 1, 1, 2}});
}

TEST_CASE("a configuration that was cancelled at its rung leaves its place to the next best") {
  const HalvingRules rules{{1, 2, 4}, 2, Goal::kMaximize};
  const ConfigurationProgress cancelled{{{State::kFailed, {9}}}, 0};
  CHECK(decide(rules, std::vector{cancelled, reached({1})}, kAll) == Decisions{{Kind::kPromote, 1, 1, 2}});
  const ConfigurationProgress one_seed{{{State::kReached, {9}}, {State::kFailed, {9}}}, 0};
  const ConfigurationProgress other{{{State::kReached, {1}}, {State::kReached, {2}}}, 0};
  CHECK(decide(rules, std::vector{one_seed, other}, kAll) == Decisions{{Kind::kPromote, 1, 1, 2}});
  // It had gone on already: the place that it took below stays taken.
  const ConfigurationProgress later{{{State::kFailed, {9, 9}}}, 1};
  CHECK(decide(rules, std::vector{later, reached({1})}, kAll) == Decisions{{Kind::kKeepPaused, 1, 0, 1}});
}

TEST_CASE("no more is begun than there is room for") {
  CHECK(decide(kRules, std::vector<ConfigurationProgress>(5), 2) ==
        Decisions{{Kind::kStart, 0, 0, 1}, {Kind::kStart, 1, 0, 1}});
  CHECK(decide(kRules, std::vector<ConfigurationProgress>(5), 0).empty());
  const HalvingRules rules{{1, 2}, 2, Goal::kMaximize};
  const std::vector<ConfigurationProgress> progress{reached({1}), reached({2}), reached({3}), reached({4}), {}};
  CHECK(decide(rules, progress, 1) == Decisions{{Kind::kPromote, 3, 1, 2},
                                                {Kind::kKeepPaused, 2, 0, 1},
                                                {Kind::kKeepPaused, 1, 0, 1},
                                                {Kind::kKeepPaused, 0, 0, 1}});
}

TEST_CASE("with all results of a rung known, its best part is promoted and nothing else") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    Simulation all_at_once = random_simulation(random);
    while (all_at_once.begin(kAll), !all_at_once.running.empty()) {
      while (!all_at_once.running.empty()) all_at_once.end(0);
    }
    for (std::size_t rung = 0; rung + 1 < all_at_once.rules.rungs.size(); ++rung) {
      REQUIRE(all_at_once.at(rung + 1) == all_at_once.best_at(rung));
    }
  }
}

TEST_CASE("in whatever order jobs end, the best part of each rung is promoted in the end") {
  std::mt19937_64 random(8);
  for (int round = 0; round < 300; ++round) {
    Simulation one_by_one = random_simulation(random);
    const std::size_t places = 1 + random() % 5;
    while (true) {
      one_by_one.begin(places - one_by_one.running.size());
      if (one_by_one.running.empty()) break;
      one_by_one.end(random() % one_by_one.running.size());
    }
    CHECK(one_by_one.at(0).size() == one_by_one.figures.size());
    for (std::size_t rung = 0; rung + 1 < one_by_one.rules.rungs.size(); ++rung) {
      const auto promoted = one_by_one.at(rung + 1), best = one_by_one.best_at(rung);
      REQUIRE(std::ranges::includes(promoted, best));
    }
  }
}

}  // namespace esper::test::halving_test
