#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "sweep/summary.h"

namespace esper::test::summary_text_test {

using namespace esper::sweep;

namespace {

SummaryRow row_of(std::size_t configuration, std::map<std::string, std::string> parameters) {
  SummaryRow row;
  row.configuration = configuration;
  row.parameters = std::move(parameters);
  row.seeds.resize(2);
  return row;
}

Summary example() {
  Summary summary{"widths", esper::config::Metric::kAccuracy, Goal::kMaximize, 2, {}, 10, {}};
  summary.rows = {row_of(10, {{"host.width", "64"}, {"training.optimizer.lr", "0.1"}}),
                  row_of(2, {{"host.width", "128"}, {"training.optimizer.lr", "0.025"}}),
                  row_of(3, {{"host.width", "128"}, {"training.optimizer.lr", "0.1"}})};
  summary.rows[0].done = summary.rows[1].done = 2;
  summary.rows[0].mean = 0.953;
  summary.rows[0].half_width = 0.0042;
  summary.rows[1].mean = 0.9;
  summary.rows[1].half_width = 0.012;
  summary.rows[2].failed = 1;
  summary.comparison = Comparison{10, 2, 2, 0.053, 0.01, 0.096, true};
  return summary;
}

}  // namespace

TEST_CASE("the table has aligned columns, and below it what is known of the best") {
  CHECK(summary_text(example()) ==
        "sweep      widths\n"
        "metric     accuracy, more is better\n"
        "complete   2 of 3 configurations\n"
        "\n"
        "configuration  width  lr     seeds                    accuracy, 95 % interval\n"
        "10             64     0.1    2/2                      0.953 ± 0.0042\n"
        "2              128    0.025  2/2                      0.9 ± 0.012\n"
        "3              128    0.1    0/2, 1 without a result  -\n"
        "\n"
        "best mean  configuration 10, accuracy 0.953\n"
        "           0.053 better than configuration 2 on the same 2 seeds, 95 % interval +0.01 to +0.096: excludes "
        "zero\n");
}

TEST_CASE("what the figures do not show is said") {
  Summary summary = example();
  summary.comparison = Comparison{10, 2, 2, 0.053, -0.01, 0.116, false};
  CHECK(summary_text(summary).ends_with(
      "interval -0.01 to +0.116: includes zero, so these seeds do not show which of the two is better\n"));
  summary.comparison = Comparison{10, 2, 1, 0.053, {}, {}, false};
  CHECK(summary_text(summary).ends_with(
      "0.053 better than configuration 2; one seed cannot show whether that is chance\n"));
  summary.comparison.reset();
  CHECK(summary_text(summary).ends_with("no second configuration to compare it with is complete\n"));
  summary.complete = 3;
  CHECK(summary_text(summary).ends_with("the best of 3 looks better than it is: other seeds would confirm it\n"));
  summary.best.reset();
  CHECK(summary_text(summary).ends_with("best mean  none yet: no configuration has all of its seeds\n"));
}

TEST_CASE("parameters whose last parts are equal keep their whole names; hostile texts steer no terminal") {
  Summary summary = example();
  summary.rows = {row_of(0, {{"a.kind", "x"}, {"b.kind", "\x1b[2J" + std::string(50, 'y')}})};
  summary.best.reset();
  const std::string text = summary_text(summary);
  CHECK(text.find("configuration  a.kind  b.kind") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("y...") != std::string::npos);
}

TEST_CASE("of halving the table has the epochs") {
  Summary summary = example();
  for (auto& row : summary.rows) row.epochs = 9;
  const std::string text = summary_text(summary);
  CHECK(text.find("lr     epochs  seeds") != std::string::npos);
  CHECK(text.find("accuracy 0.953 after 9 epochs\n") != std::string::npos);
}

TEST_CASE("JSON has every figure") {
  const auto json = summary_json(example());
  CHECK(json.at("metric") == "accuracy");
  CHECK(json.at("goal") == "maximize");
  CHECK(json.at("best") == 10);
  CHECK(json.at("rows").at(1).at("parameters").at("host.width") == "128");
  CHECK(json.at("rows").at(2).at("mean").is_null());
  CHECK(json.at("rows").at(2).at("seeds").at(0).at("state") == "pending");
  CHECK(json.at("comparison").at("excludes_zero") == true);
}

}  // namespace esper::test::summary_text_test
