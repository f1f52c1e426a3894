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

// A loaded package, without the tensors that a lane runs it on.
struct LoadedProgram {
  std::shared_ptr<program::Package> package;  // null: none
  std::string key;                            // in the cache
  std::uint64_t bits = 0;                     // Lane::bits() of every lane that runs it
  std::string mac{};                          // program::CachedPackage::mac
};

class Lane {
 public:
  using Step = std::function<void(std::span<const step::Microbatch>)>;

  // step: one training step; owns the tensors that it runs on. loaded: set if the lane runs a compiled program.
  // uncaptured: the same step where `step` replays a CUDA graph of it; empty where it does not.
  // release_intermediates: may be empty.
  Lane(config::Lane kind, Step step, LoadedProgram loaded = {}, Step uncaptured = {},
       std::function<void()> release_intermediates = {})
      : kind_(kind),
        step_(std::move(step)),
        uncaptured_(std::move(uncaptured)),
        release_intermediates_(std::move(release_intermediates)),
        loaded_(std::move(loaded)) {}
  Lane(Lane&&) = default;
  Lane& operator=(Lane&&) = default;

  // Runs one training step. The microbatches have the shapes of the example that the lane was made for.
  void run(std::span<const step::Microbatch> microbatches) const { step_(microbatches); }

  bool is_captured() const { return uncaptured_ != nullptr; }
  // The same as one operation after the other: with torch's settings as they are now, which a graph has frozen.
  void run_uncaptured(std::span<const step::Microbatch> microbatches) const {
    (uncaptured_ ? uncaptured_ : step_)(microbatches);
  }

  // Gives memory back to the system that the lane needs again only in its next run.
  void release_intermediates() const {
    if (release_intermediates_) release_intermediates_();
  }

  config::Lane kind() const { return kind_; }
  const LoadedProgram& loaded() const { return loaded_; }
  // Cache key of its compiled program; empty if its steps have eager's bits.
  const std::string& key() const { return loaded_.key; }
  // Identifies the bits of its steps without comparing keys: 0 is eager's; each loaded compiled program has its own
  // number in this process.
  std::uint64_t bits() const { return loaded_.bits; }

  // Releases its memory. The lane cannot run afterwards; kind() and key() stay valid.
  void release() {
    step_ = uncaptured_ = nullptr;
    release_intermediates_ = nullptr;
    loaded_.package = nullptr;
  }

 private:
  config::Lane kind_;
  Step step_, uncaptured_;
  std::function<void()> release_intermediates_;
  LoadedProgram loaded_;
};

}  // namespace esper::lanes
