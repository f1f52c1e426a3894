#include "tolaria/run/safety_record.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace esper::test::safety_record_test {

using nlohmann::json;
using tolaria::SafetyRecord;

TEST_CASE("a record comes back from its JSON, and nothing is an empty record") {
  const SafetyRecord record{{3, 9}, {{4, 0.5}, {8, 0.25}}, 2, 1};
  CHECK(tolaria::safety_record_from_json(to_json(record)) == record);
  CHECK(tolaria::safety_record_from_json(json()) == SafetyRecord());
}

TEST_CASE("records that no run makes are refused") {
  const json good = to_json(SafetyRecord{{3, 9}, {{4, 0.5}}, 2, 1});
  const auto with = [&](const char* place, const json& value) {
    json changed = good;
    changed[json::json_pointer(place)] = value;
    return changed;
  };
  for (const auto& bad :
       {with("/skipped_steps", {9, 3}), with("/skipped_steps", 3), with("/skips", -1), with("/rate_cuts/0/factor", 0),
        with("/rate_cuts/0/factor", 1e300), with("/rate_cuts/0/step", -4), with("/cuts", "x")}) {
    CAPTURE(bad.dump());
    CHECK_THROWS(tolaria::safety_record_from_json(bad));
  }
}

}  // namespace esper::test::safety_record_test
