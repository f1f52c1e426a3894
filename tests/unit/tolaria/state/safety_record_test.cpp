#include "tolaria/state/safety_record.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

namespace esper::test::safety_record_test {

using nlohmann::json;
using namespace esper::tolaria;

namespace {

SafetyRecord full_record() {
  SafetyRecord record;
  record.reactions = 7;
  record.skipped_steps = {3, 9};
  record.compared_steps = {2, 9};
  record.rate_cuts = {{4, 0.5}, {8, 0.25}};
  record.splits = {{5, 2}};
  record.rate = 0.125;
  record.parts = 2;
  record.full_precision = true;
  record.searches = 2;
  record.search_until = 11;
  record.failed_epochs = 1;
  record.failed_steps = {4, 4, 8};
  record.losses = {0.1, 1.0 / 3};
  record.suspect_epochs = 2;
  record.good_step = 12;
  return record;
}

}  // namespace

TEST_CASE("a record comes back from its JSON, and nothing is an empty record") {
  CHECK(safety_record_from_json(json::parse(to_json(full_record()).dump())) == full_record());
  CHECK(safety_record_from_json(json()) == SafetyRecord());
}

TEST_CASE("records that no run makes are refused") {
  const json good = to_json(full_record());
  const auto with = [&](const char* place, const json& value) {
    json changed = good;
    changed[json::json_pointer(place)] = value;
    return changed;
  };
  for (const auto& bad : {with("/skipped_steps", {9, 3}),
                          with("/skipped_steps", {-1}),
                          with("/skipped_steps", 3),
                          with("/compared_steps", {9, 3}),
                          with("/compared_steps", {-1}),
                          with("/reactions", -1),
                          with("/failed_steps", {9, 3}),
                          with("/failed_steps", {-1}),
                          with("/rate_cuts/0/value", 0),
                          with("/rate_cuts/0/value", 1e300),
                          with("/rate_cuts/0/step", -4),
                          with("/splits/0/value", 0.5),
                          with("/rate", 0),
                          with("/parts", 1e12),
                          with("/full_precision", "x"),
                          with("/losses/0", "nan"),
                          with("/suspect_epochs", -1),
                          with("/good_step", -1),
                          with("/failed_epochs", "x"),
                          with("/searches", -1),
                          with("/search_until", -1),
                          with("/reactions", INT64_MAX)}) {
    CAPTURE(bad.dump());
    CHECK_THROWS(safety_record_from_json(bad));
  }
}

TEST_CASE("a record takes the reactions that it does not have yet") {
  SafetyRecord record;
  record.reactions = 2;  // as a checkpoint of then has it
  const std::vector<ReactionRecord> all{{1, Reaction::kSkipStep, 12, 0},
                                        {2, Reaction::kLowerRate, 12, 0.5},
                                        {3, Reaction::kSplitBatches, 15, 4},
                                        {4, Reaction::kFullPrecision, 15, 0},
                                        {5, Reaction::kSearch, 16, 20, 2}};
  for (const auto& reaction : all) record.apply(reaction);
  CHECK(record.reactions == 5);
  CHECK(record.search_until == 20);
  CHECK(record.searches == 2);
  CHECK(record.skipped_steps.empty());
  CHECK(record.parts_at(15) == 4);
  CHECK(record.full_precision);

  record.apply({6, Reaction::kSearch, 18, 20});  // of an earlier version
  CHECK(record.searches == 3);
}

}  // namespace esper::test::safety_record_test
