#include "history/baseline.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "base/machine_name.h"
#include "config/writing/workload.h"

namespace esper::test::baseline_test {

using namespace esper::base;
using namespace esper::config;
using namespace esper::history;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nlohmann::ordered_json;

namespace {

// Ten rounds in which the lane takes `factor` times as long as the loop by hand.
ordered_json report(double factor, double floor = 0.01) {
  std::vector<double> hand, eager;
  for (int i = 0; i < 10; ++i) {
    hand.push_back(100 + i);
    eager.push_back(hand.back() * factor * (i % 2 == 0 ? 1.001 : 0.999));
  }
  return {{"scenario", "mlp"},
          {"environment",
           {{"machine", "m"},
            {"fingerprint", {{"cpu", "X"}, {"threads", 1}}},
            {"now", {{"time", "2026-03-01T10:15:00Z"}, {"commit", "0123456789ab"}}}}},
          {"workload", workload_json({})},
          {"lanes", {{{"lane", "eager"}, {"rounds_us", eager}}, {{"lane", "hand"}, {"rounds_us", hand}}}},
          {"ratios", {{"eager/hand", factor}, {"hand/python_eager", 0.5}}},
          {"noise", {{"floor", floor}}}};
}

}  // namespace

TEST_CASE("a ratio that stays passes, one that grows beyond the budget fails") {
  const auto same = check_against_baseline(report(0.9), report(0.9), 0.05);
  CHECK(same.exit_code == 0);
  CHECK(same.json.at("verdict") == "pass");
  REQUIRE(same.json.at("ratios").size() == 1);  // python is not gated
  CHECK(same.json["ratios"][0].at("name") == "eager/hand");

  const auto slower = check_against_baseline(report(0.9), report(1.1), 0.05);
  CHECK(slower.exit_code == 1);
  CHECK_THAT(slower.text, ContainsSubstring("eager/hand") && ContainsSubstring("slower"));

  CHECK(check_against_baseline(report(0.9), report(0.5), 0.05).exit_code == 0);
}

TEST_CASE("where nothing can be compared the answer is an error, not a pass") {
  ordered_json foreign = report(0.9);
  foreign["ratios"] = {{"compiled/hand", 0.1}};
  CHECK_THROWS_MATCHES(check_against_baseline(foreign, report(0.9), 0.05), Error,
                       MessageMatches(ContainsSubstring("nothing was compared")));
  ordered_json damaged = report(0.9);
  damaged["ratios"] = {{"eager/hand", "x"}};
  CHECK_THROWS_MATCHES(check_against_baseline(damaged, report(0.9), 0.05), Error,
                       MessageMatches(ContainsSubstring("eager/hand is not a positive number")));
  CHECK_THROWS_AS(check_against_baseline(report(0.9), report(0.9), std::nan("")), Error);
}

TEST_CASE("nothing is judged on a machine that is too noisy, now or then") {
  CHECK(check_against_baseline(report(0.9), report(1.5, 0.04), 0.05).exit_code == 75);
  CHECK(check_against_baseline(report(0.9, 0.04), report(1.5), 0.05).exit_code == 75);
}

TEST_CASE("reports of two machines, two scenarios or without noise are not compared") {
  auto other = report(0.9);
  other["environment"]["fingerprint"]["cpu"] = "Y";
  CHECK_THAT(check_comparable(report(0.9), other).error(), ContainsSubstring("cpu: \"X\" against \"Y\""));
  CHECK_THROWS_MATCHES(check_against_baseline(report(0.9), other, 0.05), Error,
                       MessageMatches(ContainsSubstring("another machine")));
  CHECK_THROWS_AS(baseline_difference(report(0.9), other), Error);

  auto scenario = report(0.9);
  scenario["scenario"] = "cnn";
  CHECK_THAT(check_comparable(report(0.9), scenario).error(), ContainsSubstring("scenario"));
  auto quiet = report(0.9);
  quiet.erase("noise");
  CHECK_THAT(check_comparable(report(0.9), quiet).error(), ContainsSubstring("incomplete"));
  CHECK(check_comparable(report(0.9), report(2.0)));
}

TEST_CASE("reports of two configurations are not compared, and the fields that differ are named") {
  RunConfig config;
  config.data.batch_size += 1;
  auto other = report(0.9);
  other["workload"] = workload_json(config);
  CHECK_THROWS_MATCHES(
      check_against_baseline(report(0.9), other, 0.05), Error,
      MessageMatches(ContainsSubstring("another configuration") && ContainsSubstring("data.batch_size: ")));
  CHECK_THROWS_AS(baseline_difference(report(0.9), other), Error);

  config = {};
  config.name = "another";
  config.epochs += 7;
  config.step.lane = Lane::kEager;
  other["workload"] = workload_json(config);  // what a step does is the same
  CHECK(check_comparable(report(0.9), other));
}

TEST_CASE("a baseline that was saved with a field that is no more is compared") {
  auto earlier = report(0.9);
  auto& workload = earlier["workload"];
  workload["fields"]["policy.reports.retention"] = "24h";
  workload["hash"] = hash_text(fnv1a(workload["fields"].dump()));
  CHECK(check_comparable(earlier, report(0.9)));
  CHECK(check_comparable(report(0.9), earlier));
  workload["fields"]["data.batch_size"] = -1;
  CHECK_THAT(check_comparable(earlier, report(0.9)).error(),
             ContainsSubstring("data.batch_size: -1 against ") && !ContainsSubstring("retention"));
}

TEST_CASE("whatever is missing or of another kind in a report is named, and never an exception of the parser") {
  const auto whole = report(0.9);
  CHECK(check_report(whole));
  CHECK_FALSE(check_report(nullptr));
  CHECK_FALSE(check_report(ordered_json::array()));
  const auto flat = whole.flatten();
  const std::vector<ordered_json> wrong{nullptr, ordered_json::object(), ordered_json::array(), "word", true, -1};
  for (const auto& [pointer, value] : flat.items()) {
    for (const auto& other : wrong) {
      auto damaged = whole;
      damaged[ordered_json::json_pointer(pointer)] = other;
      CAPTURE(pointer, other.dump());
      try {
        check_against_baseline(damaged, whole, 0.05);
        check_against_baseline(whole, damaged, 0.05);
        baseline_difference(damaged, whole);
      } catch (const Error& error) {
        CHECK(error.code() == ExitCode::kConfig);
      }
    }
  }
  for (const char* part : {"scenario", "environment", "workload", "lanes", "ratios", "noise"}) {
    auto damaged = whole;
    damaged.erase(part);
    CHECK_THAT(check_report(damaged).error(), ContainsSubstring(part));
    damaged[part] = 3;
    CHECK_THAT(check_report(damaged).error(), ContainsSubstring(part));
  }
}

TEST_CASE("the difference of two reports shows each pair that both have") {
  const auto difference = baseline_difference(report(1.0), report(1.5));
  CHECK(difference.at("ratios").at("eager/hand").at("change") == 1.5);
}

TEST_CASE("a machine's name is a folder name that tells settings apart") {
  const auto name = machine_name("Intel(R) Xeon(R) Platinum 8488C @ 2.40GHz", "a");
  CHECK(name.starts_with("intel-xeon-platinum-8488c-"));
  CHECK(name.size() == std::string("intel-xeon-platinum-8488c-").size() + 8);
  CHECK(name != machine_name("Intel(R) Xeon(R) Platinum 8488C @ 2.40GHz", "b"));
  CHECK(machine_name("", "a").starts_with("machine-"));
  CHECK(machine_name("../..", "a").find('/') == std::string::npos);
}

}  // namespace esper::test::baseline_test
