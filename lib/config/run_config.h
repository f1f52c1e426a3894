#pragma once
// The whole run file. Defaults live here and nowhere else.

#include "config/data_config.h"
#include "config/device_config.h"
#include "config/growth_config.h"
#include "config/host_config.h"
#include "config/policy_config.h"
#include "config/step_config.h"
#include "config/training_config.h"

namespace esper::config {

// How long anything may wait for something else.
struct SafetyConfig {
  base::Duration data_deadline = std::chrono::seconds(60);
  base::Duration policy_deadline = std::chrono::seconds(2);
  base::Duration save_deadline = std::chrono::seconds(120);

  static constexpr auto fields() {
    using C = SafetyConfig;
    return std::tuple{
        field("data_deadline", &C::data_deadline, "longest wait for one batch"),
        field("policy_deadline", &C::policy_deadline, "longest wait for a decision; a late one is dropped"),
        field("save_deadline", &C::save_deadline, "longest wait for a checkpoint that is being written")};
  }
  void validate(Findings& out) const;
};

struct CheckpointConfig {
  base::Length every{1, base::Length::Unit::kEpochs};
  int keep_last = 3;
  bool keep_best = true;

  static constexpr auto fields() {
    using C = CheckpointConfig;
    return std::tuple{field("every", &C::every,
                            "distance between two checkpoints: \"1 epoch\", \"200 steps\"; 0 saves at the end only"),
                      field("keep_last", &C::keep_last, "how many of the newest are kept", between(1, 1000)),
                      field("keep_best", &C::keep_best, "keep the one with the lowest validation loss as well")};
  }
};

enum class ConsoleMode { kAuto, kPlain, kNone };
constexpr auto names(ConsoleMode) {
  using M = ConsoleMode;
  return std::array{std::pair{M::kAuto, "auto"}, std::pair{M::kPlain, "plain"}, std::pair{M::kNone, "none"}};
}

struct TelemetryConfig {
  ConsoleMode console = ConsoleMode::kAuto;
  bool jsonl = true;
  int segment_mb = 64;
  std::int64_t limit_mb = 0;
  int queue = 1000;

  static constexpr auto fields() {
    using C = TelemetryConfig;
    return std::tuple{
        field("console", &C::console, "auto draws a progress bar on a terminal and plain lines elsewhere"),
        field("jsonl", &C::jsonl, "write telemetry.jsonl into the run folder"),
        field("segment_mb", &C::segment_mb,
              "size at which telemetry.jsonl becomes telemetry-000001.jsonl, -000002, ... and begins anew; if left "
              "out, at most half of limit_mb",
              between(1, 65536)),
        field("limit_mb", &C::limit_mb,
              "size of all these files together; the oldest are deleted, which is reported; 0 keeps all",
              between(0, 1e9)),
        field("queue", &C::queue, "packets that may wait; more are dropped and counted", between(1, 1e6))};
  }
  void validate(Findings& out) const;
};

struct RunConfig {
  std::string name = "run";
  std::uint64_t seed = 1337;
  int epochs = 10;
  std::string runs_dir = "runs";
  DeviceConfig device;
  DataConfig data;
  HostConfig host;
  TrainingConfig training;
  StepConfig step;
  GrowthConfig growth;
  PolicyConfig policy;
  SafetyConfig safety;
  CheckpointConfig checkpoint;
  TelemetryConfig telemetry;

  static constexpr auto fields() {
    using C = RunConfig;
    return std::tuple{field("name", &C::name, "names the run folder: letters, digits, '.', '_', '-'"),
                      field("seed", &C::seed, "every random number of the run follows from it"),
                      field("epochs", &C::epochs, "how many epochs to train", between(1, 1e6)),
                      field("runs_dir", &C::runs_dir, "folder that holds the run folders"),
                      field("device", &C::device, "where and in which precision"),
                      field("data", &C::data, "what to train on"),
                      field("host", &C::host, "the network at the start"),
                      field("training", &C::training, "loss, optimizer, schedule"),
                      field("step", &C::step, "one training step"),
                      field("growth", &C::growth, "how the network may grow"),
                      field("policy", &C::policy, "who decides on growth"),
                      field("safety", &C::safety, "deadlines"),
                      field("checkpoint", &C::checkpoint, "what is saved, and when"),
                      field("telemetry", &C::telemetry, "what is reported, and where")};
  }
  void validate(Findings& out) const;
};

}  // namespace esper::config
