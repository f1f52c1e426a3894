#include "drill/training_process.h"

#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "support/comes_true.h"
#include "support/patience.h"
#include "support/temporary_folder.h"

namespace esper::test::training_process_test {
namespace {

using drill::TrainingProcess;
using Clock = TrainingProcess::Clock;

std::string contents_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("how a process ends is known, and what it printed") {
  const TemporaryFolder folder;
  TrainingProcess process({"sh", "-c", "echo $ESPER_TEST_WORD; echo no >&2; exit 4"}, folder / "log",
                          {"ESPER_TEST_WORD=yes"});
  const auto end = process.wait_until(Clock::now() + kPatience);
  REQUIRE(end);
  CHECK(text_of(*end) == "exit status 4");
  CHECK_FALSE(end->is_done());
  CHECK(contents_of(folder / "log") == "yes\nno\n");
  TrainingProcess killed({"sleep", "600"}, folder / "log");
  CHECK_FALSE(killed.wait_until(Clock::now() + std::chrono::milliseconds(20)));
  killed.send(SIGKILL);
  CHECK(text_of(killed.wait_until(Clock::now() + kPatience).value()) == "signal 9");
}

TEST_CASE("a process ends with the object, and so does what it started") {
  const TemporaryFolder folder;
  {
    TrainingProcess process({"sh", "-c", "sleep 600 & echo $!; wait"}, folder / "log");
    REQUIRE(comes_true([&] { return !contents_of(folder / "log").empty(); }));
  }
  const auto child = static_cast<pid_t>(std::stol(contents_of(folder / "log")));
  CHECK(comes_true([&] {
    std::ifstream status("/proc/" + std::to_string(child) + "/stat");
    std::string number, name, state;
    return !(status >> number >> name >> state) || state == "Z";
  }));
}

TEST_CASE("a program that is not there is an error with its name") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(TrainingProcess({"/no/such/program"}, folder / "log"), base::Error);
  CHECK_THROWS_AS(TrainingProcess({"true"}, folder / "no/such/folder/log"), base::Error);
}

}  // namespace esper::test::training_process_test
