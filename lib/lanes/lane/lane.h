#pragma once
// One way to run a recorded step, ready to run. Training thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "config/step_config.h"
#include "program/package.h"
#include "step/train_step.h"

namespace esper::lanes {

// A package that is loaded, without the tensors that a lane runs it on.
struct LoadedProgram {
  std::shared_ptr<program::Package> package;  // null: none
  std::string key;                            // in the cache
  std::uint64_t bits = 0;                     // Lane::bits() of all lanes that run it
};

class Lane {
 public:
  using Step = std::function<void(std::span<const step::Microbatch>)>;

  // step: one training step; owns what it runs on. loaded: where it runs a compiled program.
  Lane(config::Lane kind, Step step, LoadedProgram loaded = {})
      : kind_(kind), step_(std::move(step)), loaded_(std::move(loaded)) {}
  Lane(Lane&&) = default;
  Lane& operator=(Lane&&) = default;

  // One training step. The microbatches have the shapes of the example that the lane was made for.
  void run(std::span<const step::Microbatch> microbatches) const { step_(microbatches); }

  config::Lane kind() const { return kind_; }
  const LoadedProgram& loaded() const { return loaded_; }
  // Of its compiled program in the cache; empty: its steps have eager's bits.
  const std::string& key() const { return loaded_.key; }
  // Tells whose bits its steps have, without a look at the key: 0 is eager's, and each compiled program that was loaded
  // has a number of its own in this process.
  std::uint64_t bits() const { return loaded_.bits; }

  // Gives its memory back; it cannot run any more. kind() and key() stay.
  void release() {
    step_ = nullptr;
    loaded_.package = nullptr;
  }

 private:
  config::Lane kind_;
  Step step_;
  LoadedProgram loaded_;
};

}  // namespace esper::lanes
