#pragma once
// Prepares the steps of structures that may come: looks for what is not ready, runs it dry on a scratch model and has
// it compiled. What is ready lies in its library; who installs it is StepRunner. Nothing of the run changes, random
// numbers included. Training thread, between two steps. docs/lanes.md, "Growth".

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "config/growth_config.h"
#include "device/memory_figures.h"
#include "lanes/shape/compile_queue.h"
#include "lanes/structure/dry_run.h"
#include "lanes/structure/scratch_model.h"

namespace esper::lanes {

// What the structure in use has to do with what is prepared for others.
struct StructureInUse {
  std::string structure;                     // structure_of() the network
  config::Lane lane = config::Lane::kEager;  // the fastest that any shape runs in
  CompiledLikeness compiled{};
  bool compiling = false;  // it has the compiler
};

struct PreparationServices {
  ModelFactory build{};  // null: nothing is prepared ahead
  config::GrowthConfig growth{};
  std::function<device::MemoryFigures()> memory{};  // null: of the model's device
};

class StructurePreparer {
 public:
  // Borrows all but the services.
  StructurePreparer(const LaneContext& context, LaneFailures& failures, CompileQueue& queue,
                    PreparationServices services)
      : context_(context), failures_(failures), queue_(queue), services_(std::move(services)) {}
  StructurePreparer(const StructurePreparer&) = delete;

  // False: the run prepares nothing.
  bool is_on() const;
  // A shape of step that the run has: what is prepared is prepared for it.
  void keep_example(const StepShape& shape, std::span<const step::Microbatch> microbatches, std::int64_t left);
  const DryRun::Examples& examples() const { return examples_; }
  StructureLibrary& library() { return library_; }

  // Some work on the likeliest structure that is not ready yet, ten milliseconds and a piece at most; and on compiling
  // ahead, which goes on beside the training. steps_left: of the run.
  void prepare(const StructureInUse& in_use, std::span<const LikelyChange> likely, std::int64_t steps_left);
  // The network has changed: what was being run dry no longer comes of it.
  void give_up_dry_run() { dry_run_.reset(); }
  // Lane compiled waits, so that it begins at the same step whenever the program was compiled: what came is prepared
  // now as far as it was not before. Where memory does not suffice, the structure is forgotten and begins as one that
  // nobody foresaw.
  void finish(const std::string& structure);
  void report_unprepared(const std::string& change, const std::string& reason);

 private:
  struct Open {
    std::string place;  // in leads_to_
    std::unique_ptr<DryRun> run;
  };

  KnownStructure* look_at(const LikelyChange& change, const std::string& place, const StructureInUse& in_use,
                          bool& worked);
  void run_dry(const LikelyChange& change, const std::string& place, const StructureInUse& in_use);
  void begin_dry_run(const LikelyChange& change, const std::string& place, const StructureInUse& in_use);
  void close_dry_run(const LikelyChange& change);
  void check_arrived(const LikelyChange& change, KnownStructure& known, const StructureInUse& in_use);
  void take_precompiled();
  bool pays(const KnownStep& step, const StructureInUse& in_use, std::int64_t steps_left) const;
  void wait_for(DryRun& run);
  bool has_room();
  bool gives_up_for(const std::exception& error);
  void report_prepared(const LikelyChange& change, const KnownStructure& known);

  const LaneContext& context_;
  LaneFailures& failures_;
  CompileQueue& queue_;
  PreparationServices services_;

  DryRun::Examples examples_;  // by shape
  StructureLibrary library_;
  std::map<std::string, std::string> leads_to_;  // structure and change: the structure that comes, empty: cannot be had
  std::optional<Open> dry_run_;                  // under way
  bool gave_up_ = false;                         // preparing does not fit into memory
};

}  // namespace esper::lanes
