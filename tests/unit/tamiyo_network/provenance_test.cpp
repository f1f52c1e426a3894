#include "tamiyo/network/provenance.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace esper::test::provenance_test {

using namespace esper::tamiyo;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("provenance comes back as it was written") {
  Provenance written;
  written.method = "imitation";
  written.teacher = "heuristic";
  written.command = "esper policy imitate \"runs/a b\"";
  written.date = "2026-03-01";
  written.esper = "1.0.0 (commit 0123456)";
  written.settings = {{"epochs", 40}, {"learning_rate", 1e-3}};
  written.runs = {{"runs/a", "0123456789abcdef", RunPart::kTraining, 90, 2},
                  {"runs/b", "fedcba9876543210", RunPart::kHeldOut, 89, 1}};
  written.training = {{"accuracy", 1.0 / 3}};
  const auto read = read_provenance(provenance_text(written));
  INFO(read.error_or(""));
  REQUIRE(read);
  CHECK(provenance_text(*read) == provenance_text(written));
  CHECK(read->runs[1].part == RunPart::kHeldOut);
  CHECK(read->training.at("accuracy") == 1.0 / 3);
  CHECK(read->held_out.empty());
}

TEST_CASE("provenance that is none is refused with the field") {
  const auto problem = [](const char* text) {
    const auto read = read_provenance(text);
    REQUIRE(!read);
    return read.error();
  };
  CHECK_THAT(problem("{"), ContainsSubstring("not valid JSON"));
  CHECK_THAT(problem(R"({"version": 2})"), ContainsSubstring("version: 2 is not 1"));
  CHECK_THAT(problem(R"({"runs": [{"decisions": -1}]})"), ContainsSubstring("runs[0].decisions"));
  CHECK_THAT(problem(R"({"method": "imitation", "trust": "me"})"), ContainsSubstring("trust"));
}

}  // namespace esper::test::provenance_test
