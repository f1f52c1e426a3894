#pragma once
// A real small run in memory: synthetic data, an mlp that can grow, a disk that can fail, telemetry that is kept.

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "support/faults/faulty_file_system.h"
#include "support/kind_check.h"
#include "support/memory_sink.h"
#include "support/scripted_controller.h"
#include "tolaria/epoch_loop.h"
#include "tolaria/evaluation/measure.h"

namespace esper::test {

inline constexpr char kCheckpoints[] = "/run/checkpoints";
inline constexpr char kJournal[] = "/run/journal";

// 48 samples to train on in 6 batches, 16 to validate; 3 epochs.
config::RunConfig small_config();

// Asks for nothing.
ScriptedController::Script quiet();

// Keeps each packet, which must be as the telemetry table says, then calls on_packet: on the training thread, between
// two epochs.
class WatchedSink final : public leyline::TelemetrySink {
 public:
  void emit(const leyline::TelemetryPacket& packet) override {
    CHECK(kinds_.take(packet) == "");
    kept_.emit(packet);
    if (on_packet) on_packet(packet);
  }
  std::vector<leyline::TelemetryPacket> packets() const { return kept_.packets(); }
  std::function<void(const leyline::TelemetryPacket&)> on_packet;

 private:
  esper::test::MemorySink kept_;
  esper::test::KindCheck kinds_;
};

class SmallRun {
 public:
  explicit SmallRun(const config::RunConfig& config = small_config(), ScriptedController::Script script = quiet());
  // One that goes on from a checkpoint of another.
  SmallRun(const config::RunConfig& config, ScriptedController::Script script, const tolaria::CheckpointImage& from);

  tolaria::RunOutcome go() { return tolaria::run_epochs(run); }
  // The network as it is, as at the end of the epoch to come.
  tolaria::Measurements measure() { return tolaria::measure_epoch(evaluation, progress.epoch + 1, outbox); }

  // Of all packets so far, in order.
  std::vector<leyline::TelemetryEvent> events(const std::string& name) const;
  // The epoch packets' values of a metric.
  std::vector<double> values(const std::string& name) const;
  std::vector<leyline::TelemetryPacket> packets(const std::string& subsystem) const;
  // Every tensor of the run, random number generators included.
  std::map<std::string, torch::Tensor> bits() const;
  std::vector<std::string> journal();

  std::shared_ptr<esper::test::FaultyFileSystem> disk = std::make_shared<esper::test::FaultyFileSystem>();
  esper::test::FaultyFileSystem& files = *disk;
  WatchedSink sink;
  base::Interrupt interrupt;
  data::Splits data;
  std::unique_ptr<data::Loader> train_data, validation_data;
  std::unique_ptr<step::Model> model;
  tamiyo::RunPolicy policy;
  tolaria::CheckpointWriter writer;
  tolaria::RunFacts facts;
  tolaria::RunProgress progress;
  base::Ledger ledger;
  leyline::Progress display;
  tolaria::Outbox outbox;
  tolaria::Saver saver;
  tolaria::Evaluation evaluation;
  tolaria::Run run;

 private:
  SmallRun(const config::RunConfig& config, ScriptedController::Script script, const tolaria::CheckpointImage* from);
};

// The newest checkpoint of the run, which must have one.
tolaria::CheckpointImage newest_checkpoint(SmallRun& it);

// Names of tensors that are not the same bits in both.
std::vector<std::string> differing(const std::map<std::string, torch::Tensor>& a,
                                   const std::map<std::string, torch::Tensor>& b);

}  // namespace esper::test
