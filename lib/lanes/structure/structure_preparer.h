#pragma once
// Prepares the steps of structures that may come: finds one that is not ready, does a dry run of it on a scratch model,
// and has it compiled. Results are stored in its library; StructureChanges installs them. The run's state is unchanged,
// random number generators included. Training thread, between two steps. docs/lanes.md, "Growth".

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

// The properties of the structure in use on which preparing others depends.
struct StructureInUse {
  std::string structure;                     // structure_of() the network
  config::Lane lane = config::Lane::kEager;  // the fastest that any shape runs in
  CompiledLikeness compiled{};
  bool compiling = false;  // it is using the compiler
};

struct PreparationServices {
  ModelFactory build{};  // null: nothing is prepared ahead
  config::GrowthConfig growth{};
  std::function<device::MemoryFigures()> memory{};  // null: of the model's device
};

// A structure starts unprepared, and why.
void report_unprepared(const LaneContext& context, const std::string& change, const std::string& reason);

class StructurePreparer {
 public:
  // Borrows everything except the services.
  StructurePreparer(const LaneContext& context, LaneFailures& failures, CompileQueue& queue,
                    PreparationServices services)
      : context_(context), failures_(failures), queue_(queue), services_(std::move(services)) {}
  StructurePreparer(const StructurePreparer&) = delete;

  // False if the run prepares nothing.
  bool is_on() const;
  // Keeps a copy of the microbatches of a shape that the run has; structures are prepared for these shapes.
  void keep_example(const StepShape& shape, std::span<const step::Microbatch> microbatches, std::int64_t left);
  const DryRun::Examples& examples() const { return examples_; }
  StructureLibrary& library() { return library_; }

  // Works on the likeliest structure that is not ready, for about ten milliseconds or a fiftieth of the time since the
  // last call (at least one piece of work), and starts compilations ahead, which run beside the training. steps_left:
  // of the run.
  void prepare(const StructureInUse& in_use, std::span<const LikelyChange> likely, std::int64_t steps_left);
  // The network has changed, so the structure of the current dry run can no longer result from it.
  void give_up_dry_run() { dry_run_.reset(); }
  // Completes the preparation of the new structure. Lane compiled waits for its programs, so that it starts at the same
  // step however long they took to compile. If memory runs out, the structure is dropped and starts unprepared.
  void finish(const std::string& structure);

 private:
  struct Open {
    std::string place;  // in leads_to_
    std::unique_ptr<DryRun> run;
  };

  // Of one call of prepare(): a piece of work on one structure.
  struct Work {
    base::Duration limit{};
    bool is_done = false;
  };

  KnownStructure* look_at(const LikelyChange& change, const std::string& place, const StructureInUse& in_use,
                          Work& work);
  void run_dry(const LikelyChange& change, const std::string& place, const StructureInUse& in_use,
               base::Duration limit);
  void begin_dry_run(const LikelyChange& change, const std::string& place, const StructureInUse& in_use);
  void check_arrived(const LikelyChange& change, KnownStructure& known, const StructureInUse& in_use);
  bool has_room();
  bool gives_up_for(const std::exception& error);

  const LaneContext& context_;
  LaneFailures& failures_;
  CompileQueue& queue_;
  PreparationServices services_;

  DryRun::Examples examples_;  // by shape
  StructureLibrary library_;
  std::map<std::string, std::string> leads_to_;  // structure and change -> the new structure; empty: impossible
  std::optional<Open> dry_run_;                  // in progress
  bool gave_up_ = false;                         // preparing does not fit into memory
  std::optional<base::Duration> last_pause_;     // when prepare() was called last
};

}  // namespace esper::lanes
