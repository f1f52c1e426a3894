#pragma once
// State of one shape of the step: a structure of the network with sizes of microbatches. Plain data, except for
// enter(), which checks the table of transitions.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lanes/shape/lane_log.h"
#include "lanes/shape/shape_state.h"
#include "program/compile/compile_request.h"
#include "program/symbolic.h"

namespace esper::lanes {

// A program to compile: its lowering and the compiler's effort.
struct Variant {
  std::string recipe;
  program::CompileEffort effort = program::CompileEffort::kQuick;
  std::string key;  // in the cache
};

struct StepShape;

// Shapes that differ only in batch size, and the one program for all of them.
struct ShapeGroup {
  program::SymbolicProgram program;
  StepShape* leader = nullptr;  // selects, compiles and measures recipes; the members use its result
  std::int64_t leader_size = 0;
};

// What has been tried for a shape, and what is left to try.
struct LaneSearch {
  bool begun = false;             // the cache was queried
  bool tried_uncompiled = false;  // a lane without a compiler was tried
  bool took_shared = false;       // the group's compiled program was or is being tried here
  bool undecided = false;         // whether compiling pays is not decided
  std::deque<Variant> wanted{};   // to be compiled, in this order
  std::optional<Variant> compiling{};
  std::string recipe{};                       // of the last compiled program loaded
  std::map<std::string, double> recipe_us{};  // measured median step time by recipe
  std::set<std::string> in_full{};            // recipes whose package was compiled with full effort
  bool wants_full = true;                     // compile the winner with full effort
  bool rejected = false;                      // a compiled program was, so that lane compiled stays in eager
  int near_misses = 0;                        // of the next comparison, from before the run was resumed or went back
};

// The bits that the journal records for the shape.
struct RecordedBits {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  std::optional<std::string> key{};  // of the compiled program; "": eager's bits
  bool on_trial = false;             // see LaneRecord
  // Lane::bits() of it, so that a step compares no strings. Unknown for a program on trial: its adoption changes none.
  std::uint64_t bits = kUnknown;
  LaneProgress progress{};
};

struct StepShape {
  std::uint64_t structure = 0;  // version of the network's
  // Of inputs and targets, microbatch after microbatch: number of dimensions, then the sizes. Checked at every step.
  std::vector<std::int64_t> sizes{};
  std::string name{};  // the sizes as text

  ShapeState state{};
  std::optional<program::Program> program{};  // empty: the step is not recorded
  std::optional<Lane> incumbent{};            // runs the step; empty: eager does
  std::optional<Lane> withheld{};             // to be tested once no comparison is ahead
  bool replay_agrees = false;   // as eager did, when a lane of the program without a compiler was compared
  std::int64_t next_check = 0;  // the run's step from which on the incumbent is compared with eager again
  ShapeGroup* group = nullptr;  // null: its compiled programs are for this shape only
  LaneSearch search{};
  RecordedBits recorded{};

  // Checks that the table allows this transition.
  void enter(ShapeEvent event, ShapeState next);
  bool is(StateId id) const { return id_of(state) == id; }

  // The program that is compiled for it.
  program::SymbolicProgram to_compile() const { return group != nullptr ? group->program : *program; }
  bool runs_compiled() const { return incumbent.has_value() && incumbent->kind() == config::Lane::kCompiled; }
  // What lane compiled records after a step in eager.
  LaneProgress progress() const;
  bool is_member() const { return group != nullptr && group->leader != this; }
  // The lane under test; null if there is none.
  Lane* candidate();
};

}  // namespace esper::lanes
