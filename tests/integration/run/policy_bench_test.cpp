// `esper bench --scenario policy` as a user runs it, on few rounds and without a compiler.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>

#include "integration/cli/cli.h"
#include "integration/run/run_room.h"

namespace esper::test::policy_bench_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

constexpr std::chrono::seconds kDeadline{960};

}  // namespace

TEST_CASE("the policy network is timed in each form, then with a run around it; a missing peer is a row") {
  const Finished finished = run_program({binary(), "bench", "--scenario", "policy", "--no-compile", "--rounds", "3",
                                         "--epochs", "12", "--peer", "python", "--json"},
                                        {"ESPER_PYTHON=/nowhere/python"}, kDeadline);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  const auto report = json::parse(finished.out);
  CHECK(report.at("scenario") == "policy");
  CHECK(report.at("environment").at("fingerprint").at("threads") == 1);
  std::map<std::string, std::vector<int>> sizes;
  for (const auto& row : report.at("policy")) {
    CAPTURE(row);
    sizes[row.at("network")].push_back(row.at("nodes"));
    CHECK(row.at("p50_us").get<double>() > 0);
    CHECK(row.at("p95_us").get<double>() >= row.at("p50_us").get<double>());
    CHECK(row.at("p99_us").get<double>() >= row.at("p95_us").get<double>());
    CHECK(row.at("calls").get<int>() >= 9);
  }
  const std::vector<int> all = {8, 30, 100};
  std::map<std::string, std::string> refused;
  for (const auto& row : report.at("refused")) refused[row.at("name")] = row.at("reason");
  // On a processor without products in bf16.
  CHECK(sizes.contains("folded_bf16") != refused.contains("folded_bf16"));
  if (sizes.contains("folded_bf16")) CHECK(sizes["folded_bf16"] == all);
  sizes.erase("folded_bf16");
  refused.erase("folded_bf16");
  CHECK(sizes == std::map<std::string, std::vector<int>>{{"eager", all}, {"folded", all}});
  REQUIRE((refused.size() == 2 && refused.contains("pyg_eager") && refused.contains("pyg_compiled")));
  CHECK_THAT(refused["pyg_eager"], ContainsSubstring("no Python at /nowhere/python"));
  CHECK(report.at("ratios").empty());
  CHECK(report.at("epoch").at("p95_ms").get<double>() >= report["epoch"].at("p50_ms").get<double>());
  CHECK(report.at("epoch").at("steps_per_epoch") == 4);
  CHECK(report.at("epoch_lane") == "eager");
  REQUIRE(report.at("steps").size() == 2);
  CHECK((report["steps"][0].at("steps_per_epoch") == 4 && report["steps"][1].at("steps_per_epoch") == 256));
  for (const auto& step : report["steps"]) {
    CHECK(step.at("pairs") == 3);
    for (const char* figure : {"on_p50_us", "off_p50_us", "ratio"}) CHECK(step.at(figure).get<double>() > 0);
  }
}

}  // namespace esper::test::policy_bench_test
