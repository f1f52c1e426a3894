#include "drill/verify_resume.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "config/loading/load.h"
#include "drill/run_comparison.h"
#include "drill/training_process.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::drill {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ExitCode;
using Clock = TrainingProcess::Clock;
using std::chrono::milliseconds;

constexpr auto kReferenceTime = std::chrono::hours(24 * 30);
constexpr auto kLookForCheckpoint = milliseconds(5);
constexpr auto kSpareTime = std::chrono::minutes(2);
constexpr int kMostFruitless = 5;  // runs in a row without a kill that counts

Begin begin_of(const TrainingPlan& plan) {
  const auto lane = config::load_run_config(plan.config, plan.assignments).step.lane;
  return lane == config::Lane::kAuto ? Begin::kAtFirstCheckpoint : Begin::kAtStart;
}

// All runs have the same name: the ids of commands repeat it.
std::string run_in(const std::string& folder, const std::string& name) { return folder + "/" + name + "/run"; }

// The reference may delete it, so it is copied while the reference trains. False where it was deleted meanwhile.
bool copy_checkpoint(const history::CheckpointEntry& checkpoint, const std::string& base) {
  const std::string copy = base + "/checkpoints/" + checkpoint.name();
  fs::create_directories(base + "/checkpoints");
  std::error_code failed;
  fs::copy(checkpoint.path, copy, fs::copy_options::recursive, failed);
  if (failed) storage::remove_all(storage::real_file_system(), copy);
  return !failed;
}

// What else a run goes on with: its configuration, its host and what its journal says of its steps.
void copy_rest(const std::string& run, const std::string& base) {
  for (const auto& entry : fs::directory_iterator(run)) {
    const std::string name = entry.path().filename();
    if (name == "config.yaml" || name == "host" || name.starts_with("journal"))
      fs::copy(entry.path(), base + "/" + name, fs::copy_options::recursive);
  }
}

struct Reference {
  milliseconds took{0}, to_first_checkpoint{0};
  std::uint32_t begins_after = 0;  // epochs that killed runs have behind them where they begin
};

// Trains without a stop. Fills `base` where killed runs begin with its first checkpoint.
Reference train_reference(const TrainingPlan& plan, const std::string& run, const std::string& base) {
  storage::ensure_folder(storage::real_file_system(), storage::parent_of(run));
  const auto started = Clock::now();
  const auto since_start = [&] { return std::chrono::duration_cast<milliseconds>(Clock::now() - started); };
  Reference reference;
  TrainingProcess process(train_command(plan, run), run + ".log");
  bool has_first = false;
  auto end = process.wait_until(Clock::now() + kLookForCheckpoint);
  for (; !end && Clock::now() - started < kReferenceTime; end = process.wait_until(Clock::now() + kLookForCheckpoint)) {
    const auto all = has_first ? std::vector<history::CheckpointEntry>() : checkpoints_in(run);
    if (all.empty() || (!base.empty() && !copy_checkpoint(all.front(), base))) continue;
    has_first = true;
    reference.to_first_checkpoint = since_start();
    if (!base.empty()) reference.begins_after = all.front().epoch;
  }
  if (!end) throw Error(ExitCode::kResources, "the training without a stop did not end");
  require_done(*end, run + ".log");
  if (!has_first) throw Error(ExitCode::kConfig, "the training has no checkpoint before its end: set checkpoint.every");
  if (!base.empty()) copy_rest(run, base);
  reference.took = since_start();
  return reference;
}

// A process has to come to its first checkpoint, and the kills are spread over the rest.
milliseconds longest_life(const Reference& reference, int kills_left) {
  const auto rest = reference.took - reference.to_first_checkpoint;
  return reference.to_first_checkpoint + 2 * rest / (kills_left + 1);
}

}  // namespace

double slowdown_after(double slowdown, const KilledTraining& training, const std::string& last_checkpoint,
                      milliseconds reference) {
  if (training.counted() > 0) return slowdown;
  if (training.unbroken > milliseconds(0)) {
    const double measured = static_cast<double>(training.unbroken.count()) / static_cast<double>(reference.count());
    return std::min(slowdown / 2, measured);
  }
  const bool made_last = !training.kills.empty() && training.kills.back().checkpoint == last_checkpoint;
  const bool was_late = training.outlived || made_last;
  return was_late ? slowdown / 2 : slowdown * 2;
}

int ResumeProof::kills() const {
  return std::accumulate(runs.begin(), runs.end(), 0,
                         [](int sum, const KilledRun& run) { return sum + run.training.counted(); });
}

bool ResumeProof::is_equal() const {
  return std::ranges::all_of(runs, [](const KilledRun& run) { return are_equal(run.aspects); });
}

ResumeProof verify_resume(const TrainingPlan& plan, const std::string& folder, int kills, std::uint64_t seed,
                          const Say& say) {
  ResumeProof proof{.begin = begin_of(plan), .wanted = kills};
  const std::string reference = run_in(folder, "reference");
  const std::string base = proof.begin == Begin::kAtStart ? "" : folder + "/base";
  say("training without a stop");
  const auto trained = train_reference(plan, reference, base);
  proof.reference_s = std::chrono::duration<double>(trained.took).count();
  RunContents expected = read_contents(reference);
  std::erase_if(expected.epochs, [&](const auto& epoch) { return epoch.first <= trained.begins_after; });
  std::mt19937_64 random(seed);
  double slowdown = 1;
  for (int fruitless = 0; proof.kills() < kills && fruitless < kMostFruitless;) {
    const int left = kills - proof.kills();
    say(fmt::format("killing: {} of {} kills done", kills - left, kills));
    const KillSchedule schedule{
        .most = left,
        .last_checkpoint = expected.checkpoint,
        .longest = std::chrono::duration_cast<milliseconds>(slowdown * longest_life(trained, left)),
        .deadline = 10 * trained.took + kSpareTime};
    const std::string run = run_in(folder, fmt::format("killed-{}", proof.runs.size() + 1));
    auto training = train_with_kills(plan, run, base, schedule, random);
    fruitless = training.counted() > 0 ? 0 : fruitless + 1;
    slowdown = slowdown_after(slowdown, training, expected.checkpoint, trained.took);
    auto aspects = compare_runs(expected, read_contents(run), training.kills.size());
    proof.runs.push_back({std::move(training), std::move(aspects)});
  }
  return proof;
}

}  // namespace esper::drill
