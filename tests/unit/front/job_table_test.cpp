#include "esper/queue/job_table.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "esper/queue/job_requests.h"

namespace esper::test::job_table_test {

using namespace esper;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

json job(const std::string& state, const json& changes = json::object()) {
  json document{{"id", 3},      {"state", state},       {"priority", 0},   {"name", "digits"},
                {"reason", ""}, {"submitted_ms", 1000}, {"started_ms", 0}, {"ended_ms", 0}};
  document.update(changes);
  return document;
}

std::string line_of(const json& one, TableStyle style = {.now_ms = 61'000}) {
  const auto table = job_table(json::array({one}), style);
  return table.substr(table.find('\n') + 1);
}

}  // namespace

TEST_CASE("a job's line says how long it waits, runs or ran") {
  CHECK_THAT(line_of(job("queued")), ContainsSubstring(" 1 min"));
  CHECK_THAT(line_of(job("running", {{"started_ms", 31'000}})), ContainsSubstring(" 30 s"));
  CHECK_THAT(line_of(job("running", {{"started_ms", 31'000}}), {.now_ms = 61'000, .progress = {{3, "epoch 4"}}}),
             ContainsSubstring("epoch 4, 30 s"));
  CHECK_THAT(line_of(job("succeeded", {{"started_ms", 2000}, {"ended_ms", 5000}})), ContainsSubstring("in 3 s"));
  CHECK_THAT(line_of(job("cancelled", {{"ended_ms", 5000}})), ContainsSubstring("  -"));
}

TEST_CASE("a job's page has how far it has come in place of what it is trained to") {
  const auto text = job_details(job("running", {{"epochs", 0}}), "3/90");
  CHECK_THAT(text, ContainsSubstring("epochs         3/90\n"));
  CHECK_THAT(text, ContainsSubstring("state          running\n"));
}

TEST_CASE("a job's page has its forecast in lines, in units for people") {
  const json forecast{{"memory", {{"bytes", 740 << 20}, {"parts", "process 700 MiB, data 40 MiB"}}},
                      {"device_memory", {{"bytes", 0}, {"parts", ""}}},
                      {"disk", {{"bytes", 0}, {"parts", "unknown: the data are\x1b not there"}}},
                      {"parameters", 346}};
  const auto text = job_details(job("queued", {{"forecast", forecast}}), "-");
  CHECK_THAT(text, ContainsSubstring("\nforecast\n") &&
                       ContainsSubstring("\n  memory           740 MiB: process 700 MiB, data 40 MiB\n") &&
                       ContainsSubstring("\n  device_memory    -\n") &&
                       ContainsSubstring("\n  disk             unknown: the data are\\x1b not there\n") &&
                       ContainsSubstring("\n  parameters       346\n") && !ContainsSubstring("{"));
  CHECK_THAT(job_details(job("queued", {{"forecast", nullptr}}), "-"), ContainsSubstring("forecast       null\n"));
}

TEST_CASE("spans are short") {
  CHECK(span_text(-5) == "0 s");
  CHECK(span_text(59'999) == "59 s");
  CHECK(span_text(3'599'000) == "59 min");
  CHECK(span_text(7'260'000) == "2 h 1 min");
  CHECK(span_text(90'000'000) == "1 d 1 h");
}

TEST_CASE("lines end before the terminal does, and colours take no room") {
  const auto one = job("running", {{"reason", std::string(300, 'x')}});
  for (const std::size_t columns : {40u, 80u}) {
    const auto plain = line_of(one, {.columns = columns});
    CHECK(plain.size() == columns);  // with the newline, so one column stays free
    CHECK_THAT(plain, ContainsSubstring("..."));
    const auto coloured = line_of(one, {.columns = columns, .has_colours = true});
    CHECK_THAT(coloured, ContainsSubstring("\x1b[32mrunning   \x1b[0m"));
    CHECK(coloured.size() == columns + 9);
  }
  CHECK(line_of(one, {.columns = 5, .has_colours = true}).size() <= 5);
}

TEST_CASE("a name or a reason cannot steer the terminal") {
  const auto evil = job("failed", {{"name", "a\x1b[31m\nb"}, {"reason", "x\r\x1b]0;title\x07"}});
  for (const auto& text : {line_of(evil), job_line(evil), job_details(evil, "-")}) {
    CHECK(text.find_first_of("\x1b\r\x07") == std::string::npos);
    CHECK_THAT(text, ContainsSubstring("\\x1b[31m"));
  }
  CHECK(job_line(evil).find('\n') == std::string::npos);
}

TEST_CASE("a job that has ended exits as its training did") {
  CHECK(exit_code_of(job("succeeded", {{"exit_code", 0}})) == 0);
  CHECK(exit_code_of(job("failed", {{"exit_code", 3}})) == 3);
  CHECK(exit_code_of(job("failed", {{"exit_code", nullptr}})) == 6);
  CHECK(exit_code_of(job("cancelled", {{"exit_code", 143}})) == 130);
  CHECK(job_target(4) == "/v1/jobs/4");
  CHECK(job_target(4, "set") == "/v1/jobs/4/set");
}

}  // namespace esper::test::job_table_test
