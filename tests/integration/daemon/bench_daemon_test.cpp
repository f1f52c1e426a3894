// `esper bench --scenario daemon`, in short.
#include <catch2/catch_test_macros.hpp>

#include "integration/cli/cli.h"

namespace esper::test::bench_daemon_test {

using namespace esper::test;

TEST_CASE("the daemon's scenario measures the queue, and says what it could not measure") {
  const Finished finished = run_esper(
      {"bench", "--scenario", "daemon", "--queued", "450", "--idle", "1", "--rounds", "3", "--epochs", "3", "--json"});
  CAPTURE(finished.out, finished.err);
  REQUIRE(finished.exit_code == 0);
  const auto report = json_of(finished);
  for (const char* what : {"submit, empty queue", "submit, full queue", "list, full queue", "esper jobs, full queue",
                           "restart after a kill, full queue", "esper submit"}) {
    CAPTURE(what);
    CHECK(report["ms"][what]["p50"] > 0);
    CHECK(report["ms"][what]["p99"] >= report["ms"][what]["p50"]);
  }
  CHECK(report["queued"] == 450);
  CHECK(report["list_bytes"] > 100'000);
  CHECK(report["idle"]["esper daemon"]["resident_mib"] > 1);
  const bool has_engine = report.contains("training");
  const bool has_note = report["notes"].dump().find("trainings were not measured") != std::string::npos;
  CHECK(has_engine != has_note);
}

TEST_CASE("flags of other scenarios are refused there, and its own elsewhere") {
  CHECK(run_esper({"bench", "--scenario", "daemon", "--lanes", "eager"}).exit_code == 2);
  CHECK(run_esper({"bench", "--scenario", "reference", "--queued", "5"}).exit_code == 2);
}

}  // namespace esper::test::bench_daemon_test
