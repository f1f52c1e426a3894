#pragma once
// The steps of a structure that may come, run on a scratch model through the same states as the run's own: recorded,
// replayed beside eager, and compiled where the cache has the package. The run's model and random numbers are not
// touched by what it does to the scratch model; the caller keeps the random numbers. Training thread.

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "lanes/shape/package_loading.h"
#include "lanes/shape/shape_machine.h"
#include "lanes/shape/shape_set.h"
#include "lanes/structure/structure_library.h"

namespace esper::lanes {

// The structure cannot be prepared, and why.
struct NotPreparable : std::runtime_error {
  NotPreparable(const std::string& reason, bool out_of_memory = false)
      : std::runtime_error(reason), of_memory(out_of_memory) {}
  bool of_memory;
};

// What the run's compiled steps look like: those of the structure that may come are to be like them.
struct CompiledLikeness {
  std::string recipe{};          // of the compiled program in use, where one runs
  bool each_size_alone = false;  // no program for all batch sizes could be compiled
};

class DryRun {
 public:
  using Examples = std::map<std::string, ShapeExample>;

  // run: the run's own context; all but `scratch` and `known` outlives this. What is known is not done again.
  DryRun(const LaneContext& run, LaneFailures& failures, const Examples& examples, std::unique_ptr<step::Model> scratch,
         KnownStructure known, CompiledLikeness like);
  DryRun(const DryRun&) = delete;

  // One piece of work, a step or two. Throws NotPreparable, and what a step throws.
  void advance();
  // For all examples that there are now.
  bool is_done() const;
  // Packages that have come since are looked for again.
  void look_for_packages();

  KnownStructure& known() { return known_; }

 private:
  enum class Phase { kRecord, kReplay, kPackage, kDone };
  using Batch = std::span<const step::Microbatch>;

  StepShape& begin_next();
  KnownStep& known_step(const StepShape& shape);
  void record(StepShape& shape, Batch example);
  void check(StepShape& shape, Batch example);
  std::optional<Lane> load_package(KnownStep& step, Batch example);
  void find_group(KnownStep& step, Batch example);
  void choose_variant(KnownStep& step) const;
  void reject_package(const std::string& key);

  LaneFailures& failures_;
  LaneFigures& run_figures_;
  const Examples& examples_;
  std::unique_ptr<step::Model> scratch_;
  KnownStructure known_;
  CompiledLikeness like_;

  LaneFigures figures_;  // of the scratch model's steps; nobody's but for the checks
  config::StepConfig config_;
  LaneContext context_;
  StepTally tally_;
  ShapeMachine machine_;
  ShapeSet shapes_;
  std::map<std::string, Phase> phases_;  // by shape
  int attempts_ = 0;                     // to compare the lane under test
};

}  // namespace esper::lanes
