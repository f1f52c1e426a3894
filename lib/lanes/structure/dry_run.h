#pragma once
// Runs the steps of a structure that may come on a scratch model, through the same states as the run's own steps:
// recorded, replayed and compared with eager, and compiled if the cache has the package. The run's model is not
// touched; the caller preserves the random number generators. Training thread.

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "lanes/shape/package_loading.h"
#include "lanes/shape/shape_set.h"
#include "lanes/structure/scratch_context.h"
#include "lanes/structure/structure_library.h"

namespace esper::lanes {

// The structure cannot be prepared, and why.
struct NotPreparable : std::runtime_error {
  NotPreparable(const std::string& reason, bool out_of_memory = false)
      : std::runtime_error(reason), of_memory(out_of_memory) {}
  bool of_memory;
};

// The run's compiled steps, which the steps of the new structure should resemble.
struct CompiledLikeness {
  std::string recipe{};          // of the compiled program in use, if any
  bool each_size_alone = false;  // no program for all batch sizes could be compiled
};

class DryRun {
 public:
  using Examples = std::map<std::string, ShapeExample>;

  // run: the run's own context. Everything except `scratch` and `known` must outlive this. Known steps are not
  // repeated.
  DryRun(const LaneContext& run, LaneFailures& failures, const Examples& examples, std::unique_ptr<step::Model> scratch,
         KnownStructure known, CompiledLikeness like);
  DryRun(const DryRun&) = delete;

  // Does one piece of work, a step or two. Throws NotPreparable, and what a step throws.
  void advance();
  // True if every present example is done.
  bool is_done() const;
  // Looks again for packages that were compiled since.
  void look_for_packages();
  // Marks the package as unavailable, for every step that would run it.
  void reject_package(const std::string& key);

  KnownStructure& known() { return known_; }

 private:
  enum class Phase { kRecord, kReplay, kPackage, kDone };
  using Batch = std::span<const step::Microbatch>;

  bool is_done(const std::string& shape) const;
  StepShape& begin_next();
  KnownStep& known_step(const StepShape& shape);
  void record(StepShape& shape, Batch example);
  void check(StepShape& shape, Batch example);
  std::optional<Lane> load_package(KnownStep& step, Batch example);
  void find_group(KnownStep& step, Batch example);
  void choose_variant(KnownStep& step) const;

  LaneFailures& failures_;
  LaneFigures& run_figures_;
  const Examples& examples_;
  ScratchContext scratch_;
  KnownStructure known_;
  CompiledLikeness like_;

  ShapeSet shapes_;
  std::map<std::string, Phase> phases_;  // by shape
  int attempts_ = 0;                     // comparisons of the lane under test
};

}  // namespace esper::lanes
