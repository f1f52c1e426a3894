#pragma once
// One way to run a recorded step, ready to run. Training thread.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "leyline/config/step_config.h"
#include "program/package.h"
#include "program/program.h"
#include "program/replay.h"
#include "tolaria/step_roots.h"

namespace esper::tolaria {

// The tensors that a program runs on: state in its place, and where in the list the batch goes.
struct StepInputs {
  StepInputs(const program::Program& program, const Model& model, std::span<const Microbatch> microbatches);

  std::vector<torch::Tensor> tensors;  // parallel to the program's inputs
  struct BatchPart {
    std::size_t input;  // index into tensors
    std::size_t microbatch;
    enum class Half { kInputs, kTargets } half;
  };
  std::vector<BatchPart> batch;
};

class FastLane {
 public:
  // Plans the replay; the program is verified.
  static FastLane replay(const program::Program& program, const Model& model, std::span<const Microbatch> example);
  // Throws leyline::Error{kResources} where the package does not load. key: its name in the cache.
  static FastLane compiled(const program::Program& program, const Model& model, std::span<const Microbatch> example,
                           const std::string& package_path, const std::string& key);

  // One training step. The microbatches have the shapes of the example.
  void run(std::span<const Microbatch> microbatches);

  leyline::Lane lane() const { return replay_ ? leyline::Lane::kReplay : leyline::Lane::kCompiled; }
  const std::string& key() const { return key_; }

 private:
  explicit FastLane(StepInputs inputs) : inputs_(std::move(inputs)) {}

  StepInputs inputs_;
  std::unique_ptr<program::Replay> replay_;
  std::unique_ptr<program::Package> package_;
  std::string key_;  // compiled
};

}  // namespace esper::tolaria
