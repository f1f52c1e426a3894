#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "leyline/telemetry/telemetry.h"
#include "support/committed_file.h"

namespace esper::test::telemetry_catalogue_test {

using namespace esper;

TEST_CASE("docs/telemetry.md is what the table says") {
  test::check_committed_file("docs/telemetry.md", leyline::telemetry_markdown());
}

TEST_CASE("baselines/telemetry/catalogue.json is what the table says") {
  test::check_committed_file("baselines/telemetry/catalogue.json", leyline::telemetry_json());
}

TEST_CASE("the JSON catalogue holds every row once") {
  const auto rows = nlohmann::json::parse(leyline::telemetry_json());
  REQUIRE(rows.size() == leyline::kTelemetryTable.size());
  std::set<std::pair<std::string, bool>> seen;
  for (const auto& row : rows) seen.emplace(row.at("name"), row.at("kind") == "event");
  CHECK(seen.size() == rows.size());
}

TEST_CASE("a name says its kind: a total is counted, and what is counted is not of one epoch") {
  for (const auto& entry : leyline::kTelemetryTable) {
    INFO(entry.name);
    const bool counted = entry.kind == leyline::TelemetryKind::kCounter;
    // A number that falls, too; the name is that of the system before this one.
    const bool is_old_name = entry.name == "tamiyo.field_reports.pending_total";
    if (entry.name.ends_with("_total") && !is_old_name) CHECK(counted);
    if (counted) {
      CHECK(entry.unit == "count");
      CHECK_FALSE(entry.help.ends_with("in the epoch"));
      CHECK(entry.name.find("_ms") == std::string_view::npos);
    }
  }
}

TEST_CASE("names and labels are written in one grammar") {
  constexpr std::string_view kInNames = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  constexpr std::string_view kInLabels = "abcdefghijklmnopqrstuvwxyz0123456789_ ";
  for (const auto& entry : leyline::kTelemetryTable) {
    INFO(entry.name);
    CHECK(entry.name.find_first_not_of(kInNames) == std::string_view::npos);
    CHECK(entry.name.find("..") == std::string_view::npos);
    CHECK(entry.labels.find_first_not_of(kInLabels) == std::string_view::npos);
    CHECK(entry.labels.find("  ") == std::string_view::npos);
    CHECK(entry.help.find('|') == std::string_view::npos);
    CHECK(entry.help.back() != '.');
  }
}

}  // namespace esper::test::telemetry_catalogue_test
