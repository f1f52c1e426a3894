#include "run_room.h"

#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <thread>

#include "run_record.h"
#include "support/patience.h"

namespace esper::test {
namespace fs = std::filesystem;

RunRoom::RunRoom() {
  const bool in_memory = access("/dev/shm", W_OK | X_OK) == 0;
  std::string name = (in_memory ? fs::path("/dev/shm") : fs::temp_directory_path()) / "esper_run_XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path = name;
}

RunRoom::~RunRoom() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::string RunRoom::write(const std::string& name, const std::string& text) const {
  fs::create_directories((path / name).parent_path());
  std::ofstream(path / name, std::ios::binary) << text;
  return path / name;
}

std::string growing_config() {
  return R"(name: small
seed: 7
epochs: 24
device: {kind: cpu, threads: 1}
data:
  kind: digits
  shape: [1, 8, 8]
  max_samples: 240
  batch_size: 32
host:
  kind: cnn
  blocks: 2
  base_channels: 4
  pool_layers: 0
training:
  optimizer: {kind: sgd, lr: 0.05, momentum: 0.9}
growth:
  blueprints: [conv_light, conv_heavy]
  training: straight_through
  alpha_ticks: 2
  embargo_epochs: 2
  gates:
    min_training_epochs: 2
    min_improvement_points: -100
    min_gradient_ratio: 0
    min_blending_epochs: 2
    max_shadow_drop_points: 100
    min_contribution_points: -100
policy:
  heuristic:
    min_epochs_before_germinate: 2
    plateau_epochs: 1
    plateau_points: 100
    stable_epochs: 1
    stable_relative_improvement: 1
    min_fossilize_points: -100
    prune_drop_points: 100
    window_epochs: 1
    min_share_left: 0
safety: {policy_deadline: 60s}
checkpoint: {every: 7 steps, keep_last: 1000}
telemetry: {console: none}
)";
}

Words culling() {
  return {"growth.gates.min_contribution_points=100", "policy.heuristic.min_fossilize_points=100",
          "policy.heuristic.prune_after_epochs=1", "policy.heuristic.embargo_epochs=1"};
}

Words perceptron() {
  return {"host.kind=mlp", "host.hidden=[16]", "host.dropout=0.2", "data.shape=[64]", "growth.blueprints=[]"};
}

Words operator+(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Words sets(const Words& assignments) {
  Words words;
  for (const auto& assignment : assignments) words = words + Words{"--set", assignment};
  return words;
}

Words train_command(const std::string& config, const fs::path& run, const Words& assignments) {
  fs::create_directories(run.parent_path());
  return Words{binary(), "train", "--config", config, "--run-dir", run, "--json"} + sets(assignments);
}

Words resume_command(const fs::path& run, const Words& assignments) {
  return Words{binary(), "train", "--resume", run, "--json"} + sets(assignments);
}

Finished train(const std::string& config, const fs::path& run, const Words& assignments) {
  return run_program(train_command(config, run, assignments));
}

Finished resume(const fs::path& run, const Words& assignments) { return run_program(resume_command(run, assignments)); }

namespace {

template <class Condition>
bool wait_until(Condition condition, const RunningProgram& program) {
  const auto end = std::chrono::steady_clock::now() + kPatience * 2;
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    if (program.has_ended()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace

bool wait_for_checkpoint_after(const std::string& newest, const fs::path& run, const RunningProgram& program) {
  const auto has_newer = [&] {
    const auto names = checkpoints_of(run);
    return !names.empty() && names.back() > newest;
  };
  return wait_until(has_newer, program);
}

bool wait_for_first_epoch(const fs::path& run, const RunningProgram& program) {
  const auto path = run / "telemetry.jsonl";
  const auto has_epoch = [&] {
    return fs::exists(path) && contents_of(path).find("tolaria.epochs.total") != std::string::npos;
  };
  return wait_until(has_epoch, program);
}

}  // namespace esper::test
