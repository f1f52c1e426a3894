#include "esper/queue/change_lines.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

namespace esper::test::change_lines_test {

using namespace esper;
using nlohmann::json;

namespace {

json job(int id, const std::string& state, const json& changes = json::object()) {
  json document{{"id", id}, {"state", state}, {"name", "digits"}, {"reason", ""}, {"priority", 0}, {"attempts", 1}};
  document.update(changes);
  return document;
}

}  // namespace

TEST_CASE("each change of a job is one line, and what did not change is none") {
  const JobListOptions options{};
  ChangeLines lines(options);
  const auto line = lines.line_of(job(1, "queued"));
  CHECK(line.find("job 1 queued digits") != std::string::npos);
  CHECK(line.back() == '\n');
  CHECK(lines.line_of(job(1, "queued")).empty());
  CHECK(!lines.line_of(job(1, "queued", {{"priority", 2}})).empty());
}

TEST_CASE("a job that comes back to a state that is watched is a line again") {
  const JobListOptions options{.address = {}, .states = "queued,failed", .name = ""};
  ChangeLines lines(options);
  CHECK(!lines.line_of(job(1, "queued")).empty());
  CHECK(lines.line_of(job(1, "held")).empty());
  CHECK(!lines.line_of(job(1, "queued")).empty());
  SECTION("also where its other state was missed") {
    lines.forget_others(json::array());
    CHECK(!lines.line_of(job(1, "queued")).empty());
  }
  SECTION("not where nothing was missed") {
    lines.forget_others(json::array({job(1, "queued")}));
    CHECK(lines.line_of(job(1, "queued")).empty());
  }
}

TEST_CASE("of jobs that have ended no more are remembered than a list may have") {
  const JobListOptions options{.address = {}, .states = "", .name = "", .limit = 3};
  ChangeLines lines(options);
  CHECK(!lines.line_of(job(1, "running")).empty());
  for (int id = 2; id < 50; ++id) CHECK(!lines.line_of(job(id, "succeeded")).empty());
  CHECK(lines.known() == 4);
  for (const int id : {47, 48, 49}) CHECK(lines.line_of(job(id, "succeeded")).empty());
  CHECK(lines.line_of(job(1, "running")).empty());
}

TEST_CASE("with --json a line is the job, whatever characters are in it, and none of them steers the terminal") {
  const JobListOptions options{.address = {.state_dir = "", .json = true}, .states = "", .name = ""};
  ChangeLines lines(options);
  const auto one = job(1, "failed", {{"reason", "a\x7f\u009b\n"}});
  const auto line = lines.line_of(one);
  CHECK(json::parse(line) == one);
  CHECK(line.find('\x7f') == std::string::npos);
  CHECK(line.find("\u009b") == std::string::npos);
}

}  // namespace esper::test::change_lines_test
