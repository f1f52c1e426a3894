#pragma once
// Prepares the steps of structures that may come: looks for what is not ready, rehearses it on a twin of the model and
// has it compiled. What is ready lies in its library; who brings it into use is StepRunner. Nothing of the run changes,
// random numbers included. Training thread, between two steps. docs/lanes.md, "Growth".

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "lanes/forecast.h"
#include "lanes/lane_trouble.h"
#include "lanes/step_library.h"
#include "step/model.h"

namespace esper::lanes {

// What the structure in use has to do with what is prepared for others.
struct StructureInUse {
  std::string structure;                     // structure_of() the network
  config::Lane lane = config::Lane::kEager;  // the fastest that any shape runs in
  std::string recipe{};                      // of its compiled program, where one runs
  bool compiling = false;                    // it has the compiler
  bool each_size_alone = false;              // no program for all batch sizes could be compiled
};

class StepPreparer {
 public:
  // Borrows all of it.
  StepPreparer(step::Model& model, const config::StepConfig& config, torch::Device device,
               const RunnerServices& services, LaneFigures& figures, LaneTrouble& trouble)
      : model_(model), config_(config), device_(device), services_(services), figures_(figures), trouble_(trouble) {}
  StepPreparer(const StepPreparer&) = delete;

  // False: the run prepares nothing.
  bool is_on() const;
  // A shape of step that the run has: what is prepared is prepared for it.
  void keep_example(const StepPlan& plan, std::span<const step::Microbatch> microbatches, std::int64_t left);
  const std::map<std::string, ShapeExample>& examples() const { return examples_; }
  StepLibrary& library() { return library_; }

  // Some work on the likeliest structure that is not ready yet, ten milliseconds and a piece at most; and on compiling
  // ahead, which goes on beside the training. steps_left: of the run.
  void prepare(const StructureInUse& in_use, std::span<const LikelyChange> likely, std::int64_t steps_left);
  // The network has changed: what was being rehearsed no longer comes of it.
  void give_up_rehearsal() { rehearsal_.reset(); }
  // Lane compiled waits, so that it begins at the same step whenever the program was compiled: what came is prepared
  // now as far as it was not before. Where memory does not suffice, the structure is forgotten and begins as one that
  // nobody foresaw.
  void finish(const std::string& structure);
  void tell_unprepared(const std::string& change, const std::string& reason);

  // What is compiled ahead becomes the caller's, if it is this package, or for this shape of this structure.
  std::optional<Variant> take_over(const std::string& key);
  std::optional<Variant> take_over(const std::string& structure, const std::string& shape);
  // The structure in use wants the compiler.
  void yield();
  // Compiles the step; returns when that is over, the deadline has passed or the run is to stop.
  void wait(KnownStructure& known, const KnownStep& step);

 private:
  using Batch = std::span<const step::Microbatch>;

  // step_preparer.cpp
  KnownStructure* look_at(const LikelyChange& change, const std::string& place, const StructureInUse& in_use,
                          bool& worked);
  KnownStructure& record_all(const std::string& structure, step::Model& twin);
  bool has_room();
  bool gives_up_for(const std::exception& error);

  // step_rehearsal.cpp
  void rehearse(const LikelyChange& change, const std::string& place, const StructureInUse& in_use);
  void begin_rehearsal(const LikelyChange& change, const std::string& place);
  void go_on_rehearsing(const StructureInUse& in_use);
  bool is_rehearsed() const;
  void close_rehearsal(const LikelyChange& change);
  void record_shape(step::Model& twin, KnownStructure& known, const std::string& shape, const StructureInUse& in_use);
  void compare_replay(step::Model& twin, KnownStep& step);
  void find_family(step::Model& twin, KnownStructure& known, KnownStep& step);
  void choose_variant(const KnownStructure& known, KnownStep& step, const StructureInUse& in_use);

  // step_package.cpp
  void check_arrived(const LikelyChange& change, KnownStructure& known);
  void try_package(step::Model& twin, KnownStructure& known, KnownStep& step);
  void give_up_package(KnownStructure& known, const std::string& key);

  // step_ahead.cpp
  bool pays(const KnownStep& step, const StructureInUse& in_use, std::int64_t steps_left) const;
  void submit(KnownStructure& known, const KnownStep& step);
  void take_compiled();
  void note_compiled(const program::CompileOutcome& outcome);

  step::Model& model_;
  const config::StepConfig& config_;
  torch::Device device_;
  const RunnerServices& services_;
  LaneFigures& figures_;
  LaneTrouble& trouble_;

  std::map<std::string, ShapeExample> examples_;  // by shape
  StepLibrary library_;
  std::map<std::string, std::string> outlook_;  // structure and change: the structure it leads to, empty: cannot be had
  struct Rehearsal {
    std::string place;  // in outlook_
    std::unique_ptr<step::Model> twin;
    KnownStructure known;
    std::size_t compared = 0, tried = 0;  // of its steps: replays held against eager, packages looked for
  };
  std::optional<Rehearsal> rehearsal_;  // under way
  struct Ahead {
    std::string structure, shape;
    Variant variant;
  };
  std::optional<Ahead> ahead_;  // being compiled
  bool gave_up_ = false;        // preparing does not fit into memory
};

}  // namespace esper::lanes
