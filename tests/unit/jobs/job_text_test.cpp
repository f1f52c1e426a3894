#include "jobs/api/job_text.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::job_text_test {

using namespace esper::jobs;

TEST_CASE("a job's text is the document that the job is, without its forecast") {
  Job job;
  SECTION("as it is made") {}
  SECTION("with all that a text can have") {
    job.id = 7;
    job.name = "a \"name\" \\ with \n everything: \x01 \xc3\xa4 \x7f";
    job.reason = "plain";
    job.state = JobState::kStopping;
    job.purpose = StopPurpose::kPause;
    job.priority = -3;
    job.after = {1, 2};
    job.gpus = {0};
    job.needs = {.threads = 1, .memory_bytes = std::int64_t{1} << 40, .gpus = 2};
    job.exit_code = 143;
  }
  std::string text = "before";
  append_listed_json(text, job);
  auto expected = esper::base::to_json(job);
  expected["forecast"] = nullptr;
  CHECK(nlohmann::json::parse(text.substr(6)) == expected);
}

TEST_CASE("bytes that are no UTF-8 are replaced") {
  std::string text;
  append_listed_json(text, {.name = "\xff"});
  CHECK(nlohmann::json::parse(text)["name"] == "\xef\xbf\xbd");
}

}  // namespace esper::test::job_text_test
