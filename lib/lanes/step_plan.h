#pragma once
// What is known about one shape of the step: a structure of the network with shapes of microbatches. Plain data.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lanes/fast_lane.h"
#include "program/compile/compile_request.h"
#include "program/symbolic.h"
#include "program/trial.h"

namespace esper::lanes {

// A program to compile: how it is lowered, and with what effort.
struct Variant {
  std::string recipe;
  program::CompileEffort effort = program::CompileEffort::kQuick;
  std::string key;  // in the cache
};

struct StepPlan;

// Whether compiling a step pays, given its time and how many of it are left.
struct CompilingWeighed {
  bool worth = false;
  double left_s = 0, cost_s = 0;
};
CompilingWeighed weigh_compiling(const program::Program& program, double step_us, std::int64_t steps_left);

// Shapes that differ in nothing but the batch size, and the one program for all of them.
struct StepFamily {
  program::SymbolicProgram program;
  StepPlan* founder = nullptr;  // decides, compiles and measures recipes for the others, which take what it settles on
  std::int64_t founder_size = 0;
};

struct StepPlan {
  std::uint64_t structure = 0;  // of the network
  // Of inputs and targets, microbatch after microbatch: number of dimensions, then their sizes. Asked at every step.
  std::vector<std::int64_t> sizes;

  std::string shape;                 // the sizes as text
  std::optional<std::string> noted;  // as the journal has it: key of the compiled program, or empty
  static constexpr std::uint64_t kUnknownBits = ~std::uint64_t{0};
  std::uint64_t noted_bits = kUnknownBits;  // FastLane::bits() of `noted`, so that a step compares no text

  std::int64_t next_check = 0;  // from this step of the run on the incumbent is to be compared with eager again

  std::int64_t warmup_left = 0;
  bool recorded = false;                    // or tried to
  std::optional<program::Program> program;  // empty: the step cannot be recorded
  StepFamily* family = nullptr;             // null: what is compiled is for this shape alone
  bool took_shared = false;                 // the family's compiled program was tried here, or is being tried
  std::optional<FastLane> incumbent;        // runs the step; empty: eager does
  std::optional<FastLane> challenger;       // under trial
  bool challenger_checked = false;
  int near_misses = 0;  // comparisons in a row that were off by little
  program::Trial trial;
  std::deque<Variant> wanted;  // to be compiled, in this order
  std::optional<Variant> compiling;
  bool undecided = false;                   // whether compiling pays
  std::string recipe;                       // of the compiled program loaded last
  std::map<std::string, double> recipe_us;  // median step time by recipe, as measured
  std::set<std::string> in_full;            // recipes whose package was compiled with full effort
  bool wants_full = true;                   // the winner is to be, if it is not among them
  bool tried_uncompiled = false;            // replay, or a captured graph

  // What is compiled for it.
  program::SymbolicProgram to_compile() const { return family != nullptr ? family->program : *program; }
  bool runs_compiled() const { return incumbent.has_value() && incumbent->lane() == config::Lane::kCompiled; }
  bool is_follower() const { return family != nullptr && family->founder != this; }
};

}  // namespace esper::lanes
