#include "jobs/job/repeat.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::repeat_test {

using namespace esper::jobs;

TEST_CASE("a repeated submission has the seed in its run file and in its names") {
  const Submission all{.name = "digits",
                       .config = "name: digits\nseed: 1\nepochs: 3\n",
                       .run_dir = "/runs/a",
                       .token = "t",
                       .seeds = {4}};
  const auto one = with_seed(all, 18446744073709551615u);
  REQUIRE(one);
  CHECK(one->config == "name: digits\nseed: 18446744073709551615\nepochs: 3\n");
  CHECK(one->name == "digits-seed-18446744073709551615");
  CHECK(one->run_dir == "/runs/a-seed-18446744073709551615");
  CHECK(one->token == "t/18446744073709551615");
  CHECK(one->seeds.empty());
  CHECK(with_seed({.config = "seed: 1"}, 2)->config == "seed: 2");
}

TEST_CASE("each seed's run folder lies beside the one that was named, however that is written") {
  for (const char* run_dir : {"/runs/a", "/runs/a/", "/runs/a/.", "/runs/b/../a//"}) {
    CAPTURE(run_dir);
    CHECK(with_seed({.config = "seed: 1", .run_dir = run_dir}, 2)->run_dir == "/runs/a-seed-2");
  }
}

TEST_CASE("a run file whose seed has no line of its own, or more than one, is not repeated") {
  for (const char* config : {"epochs: 3\n", "data:\n  seed: 4\n", "{seed: 1}", "seed: 1\nname: \"\nseed: 2\"\n"})
    CHECK_FALSE(with_seed({.config = config}, 2));
}

}  // namespace esper::test::repeat_test
