#pragma once
// The whole run file. Defaults live here and nowhere else.

#include "config/data_config.h"
#include "config/device_config.h"
#include "config/growth_config.h"
#include "config/host_config.h"
#include "config/policy_config.h"
#include "config/safety_config.h"
#include "config/step_config.h"
#include "config/task.h"
#include "config/training_config.h"

namespace esper::config {

struct CheckpointConfig {
  base::Length every{1, base::Length::Unit::kEpochs};
  int keep_last = 3;
  bool keep_best = true, reserve_space = true;
  Metric best_metric = Metric::kLoss;

  template <class = void>
  static constexpr auto fields() {
    using C = CheckpointConfig;
    return std::tuple{
        field("every", &C::every, "interval between checkpoints: \"1 epoch\", \"200 steps\"; 0 saves at the end only"),
        field("keep_last", &C::keep_last, "number of newest checkpoints to keep", between(1, 1000)),
        field("keep_best", &C::keep_best, "also keep the checkpoint with the best best_metric"),
        field("reserve_space", &C::reserve_space,
              "reserve disk space for a checkpoint, so that the last one fits even if the disk is full by then"),
        field("best_metric", &C::best_metric, "the validation metric that decides which checkpoint is the best")};
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

  template <class = void>
  static constexpr auto fields() {
    using C = TelemetryConfig;
    return std::tuple{
        field("console", &C::console, "auto prints a progress bar on a terminal and plain lines elsewhere"),
        field("jsonl", &C::jsonl, "write telemetry.jsonl into the run folder"),
        field("segment_mb", &C::segment_mb,
              "size at which telemetry.jsonl is rotated to telemetry-000001.jsonl, -000002, ...; default: at most half "
              "of limit_mb",
              between(1, 65536)),
        field("limit_mb", &C::limit_mb,
              "total size of these files; the oldest are deleted and an event reports it; 0 keeps all",
              between(0, 1e9)),
        field("queue", &C::queue, "queue length in packets; further packets are dropped and counted", between(1, 1e6))};
  }
  void validate(Findings& out) const;
};

struct RunConfig {
  std::string name = "run";
  std::uint64_t seed = 1337;
  int epochs = 10;
  std::string runs_dir = "runs";
  Task task = Task::kClassification;
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

  template <class = void>
  static constexpr auto fields() {
    using C = RunConfig;
    return std::tuple{field("name", &C::name, "prefix of the run folder's name: letters, digits, '.', '_', '-'"),
                      field("seed", &C::seed, "seed of all random numbers of the run"),
                      field("epochs", &C::epochs, "number of epochs to train", between(1, 1e6)),
                      field("runs_dir", &C::runs_dir, "folder that holds the run folders"),
                      field("task", &C::task,
                            "classification, multilabel, regression or language; default: language for data of kind "
                            "text or tokens"),
                      field("device", &C::device, "device and precision"),
                      field("data", &C::data, "training and validation data"),
                      field("host", &C::host, "the initial network"),
                      field("training", &C::training, "loss, optimizer, schedule"),
                      field("step", &C::step, "how a training step is executed"),
                      field("growth", &C::growth, "growth of the network"),
                      field("policy", &C::policy, "the growth policy"),
                      field("safety", &C::safety, "deadlines, and how a run reacts to failures"),
                      field("checkpoint", &C::checkpoint, "checkpoints"),
                      field("telemetry", &C::telemetry, "telemetry output")};
  }
  void validate(Findings& out) const;
};

}  // namespace esper::config
