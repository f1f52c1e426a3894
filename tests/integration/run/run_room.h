#pragma once
// A folder for the runs of one test, small run files, and esper started on them.

#include <filesystem>
#include <string>
#include <vector>

#include "integration/cli/cli.h"

namespace esper::test {

// In memory where the machine has such a file system: a killed process loses nothing that it wrote, so nothing is
// gained by waiting for a disk. Removed at the end.
struct RunRoom {
  std::filesystem::path path;
  RunRoom();
  ~RunRoom();
  RunRoom(const RunRoom&) = delete;
  RunRoom& operator=(const RunRoom&) = delete;

  std::string write(const std::string& name, const std::string& text) const;
  // PATH/NAME/run: the last part is the run's id, which command ids repeat; so runs compare equal.
  std::filesystem::path run(const std::string& name) const { return path / name / "run"; }
};

// A tiny network on a few digits. Its seeds pass all stages in 24 epochs of 8 steps, one slot after the other, up to
// FOSSILIZED; a checkpoint every 7 steps, so most lie within an epoch, and all are kept.
std::string growing_config();
// On top of it: seeds that nothing is good enough for. They are culled, and their slot rests.
std::vector<std::string> culling();
// On top of it: a multilayer perceptron, with dropout.
std::vector<std::string> perceptron();

using Words = std::vector<std::string>;
Words operator+(Words first, const Words& second);
// {"a=1", "b=2"} -> {"--set", "a=1", "--set", "b=2"}
Words sets(const Words& assignments);

Finished train(const std::string& config, const std::filesystem::path& run, const Words& assignments = {});
Finished resume(const std::filesystem::path& run, const Words& assignments = {});
// The command lines of these, for RunningProgram.
Words train_command(const std::string& config, const std::filesystem::path& run, const Words& assignments = {});
Words resume_command(const std::filesystem::path& run, const Words& assignments = {});

// True once the run has a checkpoint newer than `newest` (empty: any), false after four minutes or when the program
// ends.
bool wait_for_checkpoint_after(const std::string& newest, const std::filesystem::path& run,
                               const RunningProgram& program);
// The same for the first epoch that its telemetry reports.
bool wait_for_first_epoch(const std::filesystem::path& run, const RunningProgram& program);

}  // namespace esper::test
