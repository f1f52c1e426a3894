#include "jobs/store/dependencies.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "jobs/database/schema.h"
#include "jobs/store/job_store.h"
#include "support/temporary_folder.h"

namespace esper::test::dependencies_test {

using namespace esper::jobs;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Line {
  esper::test::TemporaryFolder folder;
  JobStore store{open_database(folder / "jobs.db")};

  // Each after the one before.
  explicit Line(int jobs) {
    for (JobId id = 1; id <= jobs; ++id) {
      Submission submission{.name = "a", .config = "c", .runs_dir = "/r"};
      if (id > 1) submission.after = {id - 1};
      REQUIRE(store.submit(submission, {}));
    }
  }
  std::string edit(JobId job, std::vector<JobId> after) {
    return store.edit(job, {.after = JobIds{std::move(after)}}, {.what = "edit"}).error_or("");
  }
};

}  // namespace

TEST_CASE("a job cannot come after itself, directly or over others") {
  Line line(200);
  CHECK(line.edit(1, {1}) == "job 1 cannot come after itself");
  CHECK_THAT(line.edit(1, {2}), ContainsSubstring("job 2, which comes after job 1"));
  CHECK_THAT(line.edit(1, {200}), ContainsSubstring("job 200, which comes after job 1"));
  CHECK(line.edit(1, {201}) == "there is no job 201 to wait for");
  CHECK(line.store.find(1)->after.empty());
  CHECK(read_audit(line.store.database(), 200, 10).empty());
}

TEST_CASE("what makes no circle is allowed, and replaces what was there") {
  Line line(4);
  CHECK(line.edit(4, {1, 2, 3}).empty());
  CHECK(line.store.find(4)->after == std::vector<JobId>{1, 2, 3});
  CHECK(line.edit(2, {}).empty());
  CHECK(line.edit(1, {4}) != "");
  CHECK(line.edit(3, {}).empty());
  CHECK(line.edit(4, {}).empty());
  CHECK(line.edit(1, {4}).empty());
}

}  // namespace esper::test::dependencies_test
