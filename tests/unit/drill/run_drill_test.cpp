#include "drill/run_drill.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "support/files.h"
#include "support/temporary_folder.h"

namespace esper::test::run_drill_test {

using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

TEST_CASE("the run that drills are compared with keeps its compiled programs from theirs") {
  const TemporaryFolder folder;
  const std::string program = folder / "esper", words = folder / "words";
  std::ofstream(program) << "#!/bin/sh\necho \"$@ faults=$ESPER_FAULTS.\" >" << words << '\n';
  fs::permissions(program, fs::perms::owner_all);
  drill::References references(folder / "runs");
  const drill::TrainingPlan plan{program, "run.yaml", {"epochs=3"}, folder / "mine/programs"};
  CHECK_THROWS_AS(references.of(plan), base::Error);  // this program makes no run
  const std::string own = folder / "runs/undisturbed-1";
  CHECK_THAT(read_text(words), ContainsSubstring("--run-dir " + own + "/run --cache-dir " + own + "/programs "));
  CHECK_THAT(read_text(words), ContainsSubstring(" --set epochs=3 faults=.\n"));
}

}  // namespace esper::test::run_drill_test
