#pragma once
// A change of the network's structure between two steps: keeps what is known of the old structure and installs what is
// known of the new one. Training thread.

#include <optional>
#include <string>

#include "lanes/shape/bits_journal.h"
#include "lanes/shape/shape_machine.h"
#include "lanes/shape/shape_set.h"
#include "lanes/structure/structure_preparer.h"

namespace esper::lanes {

// The fastest lane that any shape runs in, other than for a trial.
config::Lane lane_in_use(const LaneContext& context, const ShapeSet& shapes);
StructureInUse structure_in_use(const LaneContext& context, const ShapeSet& shapes, const std::string& structure);

// What is known of the shapes' steps. prepare_ms: see KnownStructure.
KnownStructure knowledge_of(const ShapeSet& shapes, const std::string& structure, double prepare_ms);

// Forgets the shapes. Their compilations are cancelled; finished ones stay in the cache.
void drop_shapes(const LaneContext& context, ShapeSet& shapes, CompileQueue& queue);

class StructureInstaller {
 public:
  // The references must outlive the installer.
  StructureInstaller(const LaneContext& context, ShapeSet& shapes, CompileQueue& queue, const ShapeMachine& machine,
                     BitsJournal& journal)
      : context_(context), shapes_(shapes), queue_(queue), machine_(machine), journal_(journal) {}

  // `kind`, the lane that was fastest in the structure before, is used without a trial. Throws what making lanes
  // throws; the shapes must then be dropped. number: of the next step. Returns false if `known` has no shape that the
  // run has.
  bool install(const KnownStructure& known, const DryRun::Examples& examples, config::Lane kind, std::int64_t number);

 private:
  void install_groups(const KnownStructure& known, const DryRun::Examples& examples);
  void install(StepShape& shape, const KnownStep& known, const std::string& structure,
               std::span<const step::Microbatch> example, config::Lane kind);
  void run_compiled(StepShape& shape, const KnownStep& known, std::span<const step::Microbatch> example);
  Lane compiled(const StepShape& shape, const KnownStep& known, std::span<const step::Microbatch> example) const;

  const LaneContext& context_;
  ShapeSet& shapes_;
  CompileQueue& queue_;
  const ShapeMachine& machine_;
  BitsJournal& journal_;
};

}  // namespace esper::lanes
