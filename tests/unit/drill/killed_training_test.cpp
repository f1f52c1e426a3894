#include "drill/killed_training.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "drill/verify_resume.h"
#include "support/patience.h"
#include "support/temporary_folder.h"

namespace esper::test::killed_training_test {

TEST_CASE("a kill counts only where its process made a checkpoint, and a process may end before it is to be killed") {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const std::string begin = folder / "begin", program = folder / "esper";
  fs::create_directories(begin + "/checkpoints/epoch-0001-step-000000001");
  std::ofstream(program) << "#!/bin/sh\nsleep 1\n";
  fs::permissions(program, fs::perms::owner_all);
  std::mt19937_64 random(1);
  const drill::KillSchedule schedule{.most = 1,
                                     .last_checkpoint = "epoch-0009-step-000000009",
                                     .longest = std::chrono::milliseconds(20),
                                     .deadline = std::chrono::duration_cast<std::chrono::milliseconds>(kPatience)};
  const auto training = drill::train_with_kills({program, {}, {}, {}}, folder / "run", begin, schedule, random);
  CHECK(training.kills.size() > 1);
  CHECK(training.counted() == 0);
  CHECK_FALSE(training.outlived);  // the last one was not to be killed

  std::ofstream(program) << "#!/bin/sh\n";
  auto longer = schedule;
  longer.longest = std::chrono::hours(24);
  const auto whole = drill::train_with_kills({program, {}, {}, {}}, folder / "whole", begin, longer, random);
  CHECK(whole.kills.empty());
  CHECK(whole.outlived);
  CHECK(whole.unbroken.count() > 0);
}

TEST_CASE("a training that was not killed says how long one lives where the reference waited for the compiler") {
  using std::chrono::milliseconds;
  const auto after = [](milliseconds unbroken) {
    return drill::slowdown_after(1, {.kills = {}, .processes = 1, .outlived = true, .unbroken = unbroken}, "last",
                                 milliseconds(1000));
  };
  CHECK(after(milliseconds(20)) == 0.02);
  CHECK(after(milliseconds(900)) == 0.5);  // it ended too soon to be killed, whatever it says
}

TEST_CASE("where no kill counts, processes live longer or shorter, as the kills came too early or too late") {
  const std::string last = "epoch-0009-step-000000009";
  const auto after = [&](const std::vector<drill::Kill>& kills, bool outlived) {
    return drill::slowdown_after(1, {.kills = kills, .processes = 1, .outlived = outlived}, last,
                                 std::chrono::seconds(1));
  };
  const drill::Kill early{1, "", false}, late{9, last, false};
  CHECK(after({}, true) == 0.5);
  CHECK(after({early}, true) == 0.5);  // a process that was not killed did all of it
  CHECK(after({late}, true) == 0.5);
  CHECK(after({early, late}, false) == 0.5);
  CHECK(after({early, early}, false) == 2);
  for (const bool outlived : {false, true}) {
    CHECK(after({{9, "epoch-0001-step-000000001", true}, early}, outlived) == 1);
  }
}

}  // namespace esper::test::killed_training_test
