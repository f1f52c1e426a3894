#include "drill/killed_training.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "drill/verify_resume.h"
#include "support/patience.h"
#include "support/temporary_folder.h"

namespace esper::test::killed_training_test {

TEST_CASE("a kill counts only where its process made a checkpoint") {
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
}

TEST_CASE("where no kill counts, processes live longer or shorter, as the kills came too early or too late") {
  const std::string last = "epoch-0009-step-000000009";
  const auto after = [&](const std::vector<drill::Kill>& kills) {
    return drill::slowdown_after(1, {.kills = kills, .processes = 1}, last);
  };
  CHECK(after({}) == 0.5);
  CHECK(after({{9, last, false}}) == 0.5);
  CHECK(after({{1, "", false}}) == 2);
  CHECK(after({{9, "epoch-0001-step-000000001", true}, {1, "", false}}) == 1);
}

}  // namespace esper::test::killed_training_test
