#pragma once
// What is known about one shape of the step: a structure of the network with sizes of microbatches. Plain data, but for
// enter(), which keeps to the table of transitions.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lanes/shape/shape_state.h"
#include "program/compile/compile_request.h"
#include "program/symbolic.h"

namespace esper::lanes {

// A program to compile: how it is lowered, and with what effort.
struct Variant {
  std::string recipe;
  program::CompileEffort effort = program::CompileEffort::kQuick;
  std::string key;  // in the cache
};

struct StepShape;

// Shapes that differ in nothing but the batch size, and the one program for all of them.
struct ShapeGroup {
  program::SymbolicProgram program;
  StepShape* leader = nullptr;  // decides, compiles and measures recipes for the others, which take what it settles on
  std::int64_t leader_size = 0;
};

// What has been tried for a shape, and what is still to be.
struct LaneSearch {
  bool begun = false;             // the cache was asked
  bool tried_uncompiled = false;  // a lane that needs no compiler
  bool took_shared = false;       // the group's compiled program was tried here, or is being tried
  bool undecided = false;         // whether compiling pays
  std::deque<Variant> wanted{};   // to be compiled, in this order
  std::optional<Variant> compiling{};
  std::string recipe{};                       // of the compiled program loaded last
  std::map<std::string, double> recipe_us{};  // median step time by recipe, as measured
  std::set<std::string> in_full{};            // recipes whose package was compiled with full effort
  bool wants_full = true;                     // the winner is to be, if it is not among them
};

// Whose bits the journal has for the shape.
struct RecordedBits {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  std::optional<std::string> key{};  // of the compiled program, or empty
  std::uint64_t bits = kUnknown;     // Lane::bits() of it, so that a step compares no text
};

struct StepShape {
  std::uint64_t structure = 0;  // version of the network's
  // Of inputs and targets, microbatch after microbatch: number of dimensions, then their sizes. Asked at every step.
  std::vector<std::int64_t> sizes{};
  std::string name{};  // the sizes as text

  ShapeState state{};
  std::optional<program::Program> program{};  // empty: the step is not recorded
  std::optional<Lane> incumbent{};            // runs the step; empty: eager does
  std::int64_t next_check = 0;  // from this step of the run on the incumbent is to be compared with eager again
  ShapeGroup* group = nullptr;  // null: what is compiled is for this shape alone
  LaneSearch search{};
  RecordedBits recorded{};

  // Checks that the table has this transition.
  void enter(ShapeEvent event, ShapeState next);
  bool is(StateId id) const { return id_of(state) == id; }

  // What is compiled for it.
  program::SymbolicProgram to_compile() const { return group != nullptr ? group->program : *program; }
  bool runs_compiled() const { return incumbent.has_value() && incumbent->kind() == config::Lane::kCompiled; }
  bool is_member() const { return group != nullptr && group->leader != this; }
  // The lane under test; null: none is.
  Lane* candidate();
};

}  // namespace esper::lanes
