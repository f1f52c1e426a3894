#include "drill/run_drill.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/fault.h"
#include "base/gpu_present.h"
#include "drill/killed_training.h"
#include "drill/run_comparison.h"
#include "drill/training_process.h"
#include "history/telemetry/jsonl_reader.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::drill {
namespace {

using Clock = TrainingProcess::Clock;

constexpr auto kProcessTime = std::chrono::minutes(10);
constexpr int kSignalled = 128;  // as shells have it
constexpr const char* kNoFaults = "ESPER_FAULTS=";
constexpr std::uint64_t kMostLogBytes = 64u << 20;

int status_of(const ProcessEnd& end) { return end.signal != 0 ? kSignalled + end.signal : end.exit_code; }

// A run that looked for a step and found none has all that an undisturbed one has, but for the number of its reactions.
RunContents without_count(RunContents contents) {
  const auto safety = contents.cursor.find("safety");
  if (safety != contents.cursor.end()) safety->erase("reactions");
  return contents;
}

// In the middle of its tensors. Returns why it cannot be damaged.
std::string damage_newest(const std::string& run, Damage damage) {
  const auto all = checkpoints_in(run);
  if (all.empty()) return "there was no checkpoint to damage";
  const std::filesystem::path path = all.back().path + "/state.safetensors";
  const auto middle = std::filesystem::file_size(path) / 2;
  if (damage == Damage::kTruncate) {
    std::filesystem::resize_file(path, middle);
    return {};
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(middle));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(middle));
  file.put(static_cast<char>(byte ^ 1));
  return file.flush() ? std::string() : "the checkpoint could not be damaged";
}

bool contains(const std::string& file, const std::string& text) {
  const auto bytes = storage::read_file(storage::real_file_system(), file, kMostLogBytes);
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find(text) !=
         std::string_view::npos;
}

class DrillRun {
 public:
  DrillRun(const Drill& drill, const DrillSetup& setup, DrillResult& result)
      : drill_(drill),
        // Compiled programs of its own: where the user's cache has them there is no compiler to disturb.
        plan_{setup.program, setup.config.empty() ? drill.run : setup.config, drill.set,
              fmt::format("{}/{}/programs", setup.folder, drill.name)},
        run_(fmt::format("{}/{}/run", setup.folder, drill.name)),
        result_(result) {
    storage::ensure_folder(storage::real_file_system(), storage::parent_of(run_));
  }

  const TrainingPlan& plan() const { return plan_; }

  // The disturbed process, and the one that continues.
  void train() {
    const std::string faults = fmt::format("ESPER_FAULTS={}", fmt::join(drill_.faults, ","));
    const auto end = process(train_command(plan_, run_), {faults});
    if (end && status_of(*end) != drill_.expect.exit_status)
      fail(fmt::format("it ended with {}, not {}; see {}", text_of(*end), drill_.expect.exit_status, output()));
    if (drill_.damage != Damage::kNone) {
      if (const auto problem = damage_newest(run_, drill_.damage); !problem.empty()) fail(problem);
    }
    if (!end || drill_.then == Then::kNothing) return;
    const auto continued = process(continue_command(plan_, run_), {kNoFaults});
    if (continued && !continued->is_done())
      fail(fmt::format("continued, it ended with {}; see {}", text_of(*continued), output()));
  }

  void count_events() {
    std::map<std::string, std::int64_t> reported;
    if (!drill_.expect.run_folder) {
      if (std::filesystem::exists(run_)) fail("it made a run folder");
      return;
    }
    history::read_jsonl(run_ + "/telemetry.jsonl", [&](const nlohmann::json& packet) {
      for (const auto& event : packet.value("events", nlohmann::json::array()))
        ++reported[event.value("description", "")];
    });
    for (const auto& entry : drill_.expect.events) {
      const auto event = *parse_expected_event(entry);
      const auto times = result_.events[event.name] = reported[event.name];
      if (event.times ? times != *event.times : times == 0)
        fail(fmt::format("{} was reported {} times, not {}", event.name, times,
                         event.times ? std::to_string(*event.times) : "once or more"));
    }
    for (const auto& name : drill_.expect.absent) {
      result_.events[name] = reported[name];
      if (reported[name] > 0) fail(fmt::format("{} was reported {} times, not never", name, reported[name]));
    }
  }

  // A process that was killed reports none of its faults, but how it ended does.
  void check_faults() {
    for (const auto& fault : drill_.faults) {
      const auto point = fault.substr(0, fault.find('@'));
      if (contains(output(), base::fault::unfired_text(point)))
        fail(fmt::format("the fault point {} never fired", point));
    }
  }

  void compare_with(const RunContents& reference) {
    const auto most_unreported = static_cast<std::size_t>(drill_.expect.most_unreported);
    const auto own = without_count(read_contents(run_));
    for (const Aspect& aspect : compare_runs(without_count(reference), own, most_unreported)) {
      if (!aspect.difference.empty()) fail(fmt::format("{}: {}", aspect.name, aspect.difference));
    }
  }

  void fail(std::string text) { result_.failures.push_back(std::move(text)); }

 private:
  std::string output() const { return run_ + ".log"; }

  std::optional<ProcessEnd> process(const std::vector<std::string>& command,
                                    const std::vector<std::string>& environment) {
    TrainingProcess training(command, output(), environment);
    const auto end = training.wait_until(Clock::now() + kProcessTime);
    result_.ends.push_back(end ? text_of(*end) : "killed at its deadline");
    if (!end) fail(fmt::format("it did not end within {} minutes; see {}", kProcessTime.count(), output()));
    return end;
  }

  const Drill& drill_;
  TrainingPlan plan_;
  std::string run_;
  DrillResult& result_;
};

}  // namespace

const RunContents& References::of(const TrainingPlan& plan) {
  const std::string key = fmt::format("{} {}", plan.config, fmt::join(plan.assignments, " "));
  const auto found = contents_.find(key);
  if (found != contents_.end()) return found->second;
  const std::string folder = fmt::format("{}/undisturbed-{}", folder_, contents_.size() + 1), run = folder + "/run";
  storage::ensure_folder(storage::real_file_system(), folder);
  TrainingPlan own = plan;
  own.cache_dir = folder + "/programs";
  train_to_end(train_command(own, run), run + ".log", kProcessTime, {kNoFaults});
  return contents_.emplace(key, read_contents(run)).first->second;
}

std::string missing_requirement(const Drill& drill, const DrillSetup& setup) {
  if (drill.needs == Needs::kNothing) return {};
  if (!setup.can_use_gpus) return "this build has no CUDA support; esper --version";
  if (!base::gpu_present()) return base::kNoGpu;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible != nullptr && *visible == '\0' ? "CUDA_VISIBLE_DEVICES names no GPU" : "";
}

DrillResult run_drill(const Drill& drill, const DrillSetup& setup, References& references) {
  DrillResult result{.name = drill.name, .about = drill.about, .skipped = missing_requirement(drill, setup)};
  if (!result.skipped.empty()) return result;
  DrillRun run(drill, setup, result);
  auto began = Clock::now();
  try {
    const RunContents* const reference = drill.expect.same_bits ? &references.of(run.plan()) : nullptr;
    began = Clock::now();
    run.train();
    run.count_events();
    run.check_faults();
    if (reference != nullptr) run.compare_with(*reference);
  } catch (const base::Error& error) {
    if (error.code() == base::ExitCode::kInterrupted || error.code() == base::ExitCode::kTerminated ||
        error.code() == base::ExitCode::kHungUp)
      throw;
    run.fail(error.what());
  } catch (const std::exception& error) {
    run.fail(error.what());
  }
  result.took_s = std::chrono::duration<double>(Clock::now() - began).count();
  return result;
}

}  // namespace esper::drill
