#pragma once
// One way to run a recorded step, ready to run. Training thread.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/step_config.h"
#include "lanes/graphed_step.h"
#include "lanes/step_roots.h"
#include "program/package.h"
#include "program/replay.h"
#include "program/symbolic.h"

namespace esper::lanes {

// The tensors that a program runs on: state in its place, and where in the list the batch goes.
struct StepInputs {
  StepInputs(const program::Program& program, const step::Model& model, std::span<const step::Microbatch> microbatches);

  std::vector<torch::Tensor> tensors;  // parallel to the program's inputs
  struct BatchPart {
    std::size_t input;  // index into tensors
    std::size_t microbatch;
    enum class Half { kInputs, kTargets } half;
  };
  std::vector<BatchPart> batch;
};

// A package that is loaded, without the tensors that a lane runs it on.
struct LoadedProgram {
  std::shared_ptr<program::Package> package;
  std::string key;         // in the cache
  std::uint64_t bits = 0;  // FastLane::bits() of all lanes that run it
};

class FastLane {
 public:
  FastLane(FastLane&&) = default;
  // Would end the parts of the old lane in the order of their declaration, the graph last. Reset, then emplace.
  FastLane& operator=(FastLane&&) = delete;

  // Plans the replay; the program is verified.
  static FastLane replay(const program::Program& program, const step::Model& model,
                         std::span<const step::Microbatch> example);
  // Throws base::Error{kResources} where the package does not load. key: its name in the cache.
  // program: for this size, or for all, with the example's among them.
  static FastLane compiled(const program::SymbolicProgram& program, const step::Model& model,
                           std::span<const step::Microbatch> example, const std::string& package_path,
                           const std::string& key);
  // On this model's tensors; program: the one that the package was made of, for the example's size.
  static FastLane bound(const LoadedProgram& loaded, const program::Program& program, const step::Model& model,
                        std::span<const step::Microbatch> example);

  // From now on the lane's work is replayed as a CUDA graph, captured once here: a replay becomes lane graph, a
  // compiled program stays one. The model is as before. Throws program::CaptureFailure; the lane then runs as it did.
  void capture(const step::Model& model, std::span<const step::Microbatch> example, torch::Device device, int warm_ups,
               std::shared_ptr<GraphFigures> figures);

  // One training step. The microbatches have the shapes of the example.
  void run(std::span<const step::Microbatch> microbatches) {
    if (graph_) return graph_->run(microbatches);
    run_directly(microbatches);
  }

  config::Lane lane() const {
    if (!replay_) return config::Lane::kCompiled;
    return graph_ ? config::Lane::kGraph : config::Lane::kReplay;
  }
  LoadedProgram loaded() const { return {package_, key_, bits_}; }
  const std::string& key() const { return key_; }
  // Tells whose bits its steps have, without a look at the key: 0 is eager's, and each compiled program that was loaded
  // has a number of its own in this process.
  std::uint64_t bits() const { return bits_; }

 private:
  explicit FastLane(StepInputs inputs) : inputs_(std::move(inputs)) {}

  void run_directly(std::span<const step::Microbatch> microbatches);

  // Members end in the reverse of this order. A graph knows the addresses of what it was captured from, so it comes
  // last here and goes first: before the replay, whose arena it writes, and the package, whose constants it reads.
  // Those two work on the inputs and go before them.
  StepInputs inputs_;
  std::unique_ptr<program::Replay> replay_;    // this or
  std::shared_ptr<program::Package> package_;  // this
  std::string key_;                            // compiled
  std::uint64_t bits_ = 0;
  std::unique_ptr<GraphedStep> graph_;
};

}  // namespace esper::lanes
