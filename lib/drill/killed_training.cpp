#include "drill/killed_training.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/text/printable.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::drill {
namespace {

using base::Error;
using base::ExitCode;
using Clock = TrainingProcess::Clock;

constexpr std::uint64_t kMostOutput = 16u << 20;
constexpr std::size_t kShownOutput = 1000;
constexpr int kMostOtherKills = 5;
constexpr std::chrono::seconds kKilledWithin(60);

// What the last process that failed printed: "esper: REASON", else its last line.
std::string end_of_output(const std::string& output) {
  const auto bytes = storage::read_file(storage::real_file_system(), output, kMostOutput);
  std::istringstream lines(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  std::string last, error;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("esper: ")) error = line;
    if (!line.empty()) last = line;
  }
  return base::printable_line(error.empty() ? last : error).substr(0, kShownOutput);
}

// The moment is drawn before the process starts, so a slower machine changes where kills land, not which are drawn.
std::chrono::milliseconds drawn(std::mt19937_64& random, std::chrono::milliseconds longest) {
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest.count() + 1)));
}

}  // namespace

int KilledTraining::counted() const { return static_cast<int>(std::ranges::count_if(kills, &Kill::counts)); }

void require_done(const ProcessEnd& end, const std::string& output) {
  if (end.is_done()) return;
  const auto code = end.exit_code != 0 ? static_cast<ExitCode>(end.exit_code) : ExitCode::kResources;
  std::string text = fmt::format("a training ended with {}", text_of(end));
  if (const std::string said = end_of_output(output); !said.empty()) text += ": " + said;
  if (const char* const faults = std::getenv("ESPER_FAULTS"); faults != nullptr && *faults != '\0')
    text += fmt::format("; ESPER_FAULTS={} is set", base::printable_line(faults));
  throw Error(code, text);
}

void train_to_end(const std::vector<std::string>& command, const std::string& output,
                  std::chrono::milliseconds deadline, const std::vector<std::string>& environment) {
  TrainingProcess process(command, output, environment);
  const auto end = process.wait_until(Clock::now() + deadline);
  if (!end)
    throw Error(ExitCode::kResources,
                fmt::format("a training did not end within {} s: {}", deadline.count() / 1000, end_of_output(output)));
  require_done(*end, output);
}

std::string newest_in(const std::string& run) {
  const auto all = checkpoints_in(run);
  return all.empty() ? "" : all.back().name();
}

KilledTraining train_with_kills(const TrainingPlan& plan, const std::string& run, const std::string& begin,
                                const KillSchedule& schedule, std::mt19937_64& random) {
  const std::string output = run + ".log";
  storage::ensure_folder(storage::real_file_system(), storage::parent_of(run));
  if (!begin.empty()) std::filesystem::copy(begin, run, std::filesystem::copy_options::recursive);
  KilledTraining training;
  std::string newest = newest_in(run);
  while (true) {
    const auto command = continue_command(plan, run);
    ++training.processes;
    const int others = static_cast<int>(training.kills.size()) - training.counted();
    if (training.counted() == schedule.most || others > schedule.most + kMostOtherKills) {
      train_to_end(command, output, schedule.deadline);
      return training;
    }
    const auto lives = drawn(random, schedule.longest);
    const auto started = Clock::now();
    TrainingProcess process(command, output);
    if (const auto end = process.wait_until(Clock::now() + lives)) {
      require_done(*end, output);
      training.outlived = true;
      if (training.kills.empty())
        training.unbroken = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started);
      return training;
    }
    process.send(SIGKILL);
    if (!process.wait_until(Clock::now() + kKilledWithin)) {
      throw Error(ExitCode::kResources,
                  fmt::format("a training that was killed is still there after {} s: it waits for a disk or a device "
                              "that does not answer",
                              kKilledWithin.count()));
    }
    const std::string began_with = std::exchange(newest, newest_in(run));
    training.kills.push_back(
        {lives.count(), newest, newest != began_with && !newest.empty() && newest != schedule.last_checkpoint});
  }
}

}  // namespace esper::drill
