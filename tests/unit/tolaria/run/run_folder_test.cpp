#include "tolaria/run/run_folder.h"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <filesystem>

#include "history/run_place.h"
#include "storage/file_tools.h"
#include "unit/storage/fault_loop.h"

namespace esper::test::run_folder_test {

using tolaria::create_run_folder;
using tolaria::new_run_path;
using tolaria::open_run_folder;
using tolaria::RunFolder;

namespace {

using base::Error;
using base::ExitCode;
using esper::test::FaultScenario;
using esper::test::FaultyFileSystem;
using esper::test::Outcome;

// The exit code with which `act` fails, and the text.
template <class Act>
std::pair<ExitCode, std::string> failure_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  FAIL("nothing was refused");
  return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a new run folder has its configuration, its checkpoints' place and its lock") {
  FaultyFileSystem files;
  const auto folder = create_run_folder(files, "/runs/a/digits-1", "epochs: 3\n");
  CHECK(folder.path == "/runs/a/digits-1");
  CHECK(folder.run_id() == "digits-1");
  CHECK(files.contents(folder.config()) == "epochs: 3\n");
  CHECK(files.names_in(folder.path) == std::vector<std::string>{"checkpoints", "config.yaml", "lock"});
  CHECK(folder.summary() == "/runs/a/digits-1/summary.json");
  CHECK(RunFolder{"plain", files.open("/x", base::OpenMode::kReplace)}.run_id() == "plain");
}

TEST_CASE("a run is made neither in a folder that holds runs nor within a run") {
  FaultyFileSystem files;
  {
    const auto other = create_run_folder(files, "/runs/a", "epochs: 3\n");
  }
  const auto [above, why_above] = failure_of([&] { create_run_folder(files, "/runs", "epochs: 3\n"); });
  CHECK(above == ExitCode::kConfig);
  CHECK(has(why_above, "/runs holds other runs, like a; a run needs a folder of its own"));
  const auto [within, why_within] = failure_of([&] { create_run_folder(files, "/runs/a/b", "epochs: 3\n"); });
  CHECK(within == ExitCode::kConfig);
  CHECK(has(why_within, "/runs/a/b lies within the run /runs/a;"));
  const auto [deeper, why_deeper] = failure_of([&] { create_run_folder(files, "/runs/a/b/c", "epochs: 3\n"); });
  CHECK(deeper == ExitCode::kConfig);
  CHECK(has(why_deeper, "/runs/a/b/c lies within the run /runs/a;"));
  CHECK(files.names_in("/runs") == std::vector<std::string>{"a"});
}

TEST_CASE("a run that is named by a relative path is not made within another one either") {
  FaultyFileSystem files;
  const std::string run = std::filesystem::current_path().parent_path();
  {
    const auto other = create_run_folder(files, run, "epochs: 3\n");
  }
  const auto [code, why] = failure_of([&] { create_run_folder(files, "sub/new", "epochs: 3\n"); });
  CHECK(code == ExitCode::kConfig);
  CHECK(has(why, "sub/new lies within the run " + run + ";"));
}

TEST_CASE("runs are looked for in an existing folder as deep as esper runs looks") {
  FaultyFileSystem files;
  {
    const auto other = create_run_folder(files, "/deep/1/2/3/run", "epochs: 3\n");
    const auto too_deep = create_run_folder(files, "/deeper/1/2/3/4/run", "epochs: 3\n");
  }
  const auto [code, why] = failure_of([&] { create_run_folder(files, "/deep", "epochs: 3\n"); });
  CHECK(code == ExitCode::kConfig);
  CHECK(has(why, "/deep holds other runs, like 1/2/3/run; a run needs a folder of its own"));
  CHECK(files.names_in("/deep") == std::vector<std::string>{"1"});
  CHECK(create_run_folder(files, "/deeper", "epochs: 3\n").path == "/deeper");
}

TEST_CASE("a folder with very many others in it does not hide a run beside it, and the search ends") {
  FaultyFileSystem files;
  storage::ensure_folder(files, "/wide/a/many");
  for (std::size_t i = 0; i < history::kMostFoldersBelow; ++i) files.make_folder("/wide/a/many/" + std::to_string(i));
  {
    const auto beside = create_run_folder(files, "/wide/b/run", "epochs: 3\n");
  }
  const auto [code, why] = failure_of([&] { create_run_folder(files, "/wide", "epochs: 3\n"); });
  CHECK(code == ExitCode::kConfig);
  CHECK(has(why, "/wide holds other runs, like b/run;"));
  files.remove("/wide/b/run/config.yaml");
  {
    const auto beyond = create_run_folder(files, "/wide/c/not/run", "epochs: 3\n");
  }
  CHECK(create_run_folder(files, "/wide", "epochs: 3\n").path == "/wide");
}

TEST_CASE("a run is made in another program's project, with a config.yaml and checkpoints of its own") {
  FaultyFileSystem files;
  storage::ensure_folder(files, "/project/checkpoints");
  files.put("/project/config.yaml", "lr: 1\n");
  CHECK(create_run_folder(files, "/project/run", "epochs: 3\n").path == "/project/run");
}

TEST_CASE("a folder in use is rejected, when creating and when resuming a run") {
  FaultyFileSystem files;
  const auto first = create_run_folder(files, "/run", "a: 1\n");
  for (const bool create : {true, false}) {
    const auto [code, text] = failure_of([&] {
      if (create) {
        create_run_folder(files, "/run", "a: 2\n");
      } else {
        open_run_folder(files, "/run");
      }
    });
    CHECK(code == ExitCode::kTryAgain);
    CHECK(has(text, "run folder /run is in use by process "));
  }
  CHECK(files.contents("/run/config.yaml") == "a: 1\n");
}

TEST_CASE("a finished run is not overwritten, and can be opened again") {
  FaultyFileSystem files;
  create_run_folder(files, "/run", "a: 1\n");
  const auto [code, text] = failure_of([&] { create_run_folder(files, "/run", "a: 2\n"); });
  CHECK(code == ExitCode::kConfig);
  CHECK(has(text, "--resume /run"));
  CHECK(files.contents("/run/config.yaml") == "a: 1\n");
  CHECK(open_run_folder(files, "/run").path == "/run");
}

TEST_CASE("a run folder that is named with slashes at its end is the same folder") {
  FaultyFileSystem files;
  CHECK(create_run_folder(files, "/run//", "a: 1\n").journal() == "/run/journal");
  const auto folder = open_run_folder(files, "/run/");
  CHECK(folder.path == "/run");
  CHECK(folder.run_id() == "run");
  CHECK(RunFolder{"runs/digits-1/.", files.open("/x", base::OpenMode::kReplace)}.run_id() == "digits-1");
}

TEST_CASE("what is no run folder is not resumed") {
  FaultyFileSystem files;
  files.make_folder("/empty");
  for (const auto* path : {"/empty", "/nothing"}) {
    const auto [code, text] = failure_of([&] { open_run_folder(files, path); });
    CHECK(code == ExitCode::kConfig);
    CHECK(has(text, std::string(path) + " is not a run folder: " +
                        (std::string(path) == "/empty" ? "it is an empty folder" : "it does not exist")));
    CHECK(files.names_in(path).empty());
  }
}

TEST_CASE("what is there and is no folder does not become a run's") {
  FaultyFileSystem files;
  files.open("/file", base::OpenMode::kReplace);
  for (const auto* path : {"/file", "/file/in/it"}) {
    const auto [code, text] = failure_of([&] { create_run_folder(files, path, "a: 1\n"); });
    CHECK(code == ExitCode::kConfig);
    CHECK(has(text, "/file exists and is not a folder; choose another place with --run-dir"));
  }
}

TEST_CASE("the error about a lost configuration names the command that restores it") {
  FaultyFileSystem files;
  files.open(create_run_folder(files, "/run", "a: 1\n").journal(), base::OpenMode::kReplace);
  files.remove("/run/config.yaml");
  const auto [code, text] = failure_of([&] { open_run_folder(files, "/run"); });
  CHECK(code == ExitCode::kConfig);
  CHECK(has(text, "esper config show RUNFILE --set ... > /run/config.yaml"));
}

TEST_CASE("opening a run removes what processes that are gone left half written, and nothing else") {
  FaultyFileSystem files;
  create_run_folder(files, "/run", "a: 1\n");
  // Under the run's lock a process of that id that lives (the parent of this one does) is another one.
  const std::string kGone = GENERATE(std::string(".tmp-2147483646"), ".tmp-" + std::to_string(::getppid()));
  files.put("/run/summary.json" + kGone, "{");
  files.put("/run/journal.next" + kGone, "{");
  files.make_folder("/run/checkpoints/epoch-0001-step-000000010" + kGone);
  files.put("/run/checkpoints/epoch-0001-step-000000010" + kGone + "/run.json", "{");
  files.make_folder("/run/checkpoints/epoch-0002-step-000000020");
  files.put("/run/notes.txt", "mine");
  files.put("/run/notes.txt" + kGone, "mine");
  open_run_folder(files, "/run");
  CHECK(files.names_in("/run") ==
        std::vector<std::string>{"checkpoints", "config.yaml", "lock", "notes.txt", "notes.txt" + kGone});
  CHECK(files.names_in("/run/checkpoints") == std::vector<std::string>{"epoch-0002-step-000000020"});
}

TEST_CASE("a new run removes what one that was killed before its configuration was there left in its folder") {
  FaultyFileSystem files;
  files.make_folder("/run");
  files.put("/run/config.yaml.tmp-2147483646", "half");
  create_run_folder(files, "/run", "a: 1\n");
  CHECK(files.names_in("/run") == std::vector<std::string>{"checkpoints", "config.yaml", "lock"});
}

TEST_CASE("a run whose folder could not be made can be started again there") {
  const FaultScenario scenario = {[](FaultyFileSystem& files) { storage::ensure_folder(files, "/runs"); },
                                  [](FaultyFileSystem& files) { create_run_folder(files, "/runs/a", "a: 1\n"); },
                                  [](FaultyFileSystem& files, Outcome outcome) {
                                    const auto config = files.contents("/runs/a/config.yaml");
                                    CHECK((!config || *config == "a: 1\n"));  // never a part of it
                                    if (outcome == Outcome::kDone) CHECK(config);
                                    if (!config) create_run_folder(files, "/runs/a", "a: 2\n");
                                    CHECK_NOTHROW(open_run_folder(files, "/runs/a"));
                                  }};
  fail_every_call(scenario);
  kill_at_every_call(scenario);
  lose_power_at_every_call(scenario);
}

TEST_CASE("names of runs carry the time and never meet") {
  FaultyFileSystem files;
  storage::ensure_folder(files, "/runs");
  constexpr std::uint64_t kWall = 1'772'323'200'000'000'000;  // 2026-03-01 00:00:00 UTC
  const std::string first = new_run_path(files, "/runs", "digits", kWall + 999'999'999);
  CHECK(first == "/runs/digits-20260301-000000");
  files.make_folder(first);
  CHECK(new_run_path(files, "/runs", "digits", kWall) == first + "-2");
  files.make_folder(first + "-2");
  CHECK(new_run_path(files, "/runs", "digits", kWall) == first + "-3");
}

}  // namespace esper::test::run_folder_test
