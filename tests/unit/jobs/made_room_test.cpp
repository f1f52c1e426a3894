#include "jobs/queue/made_room.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::made_room_test {

using namespace esper::jobs;

namespace {

std::vector<Job> waiting(std::initializer_list<JobId> ids) {
  std::vector<Job> jobs(ids.size());
  std::ranges::transform(ids, jobs.begin(), [](JobId id) {
    Job job;
    job.id = id;
    return job;
  });
  return jobs;
}

}  // namespace

TEST_CASE("a job makes room for the same waiting job once, and for another one again") {
  MadeRoom made;
  CHECK(made.add(1, 9));
  made.keep(waiting({9, 10}));
  CHECK_FALSE(made.add(1, 9));
  CHECK(made.add(2, 9));
  CHECK(made.add(1, 10));
  CHECK_FALSE(made.add(1, 10));
}

TEST_CASE("a job that began, or was taken away, and waits again may ask for room again") {
  MadeRoom made;
  CHECK(made.add(1, 9));
  made.keep(waiting({10}));
  CHECK(made.add(1, 9));
}

}  // namespace esper::test::made_room_test
