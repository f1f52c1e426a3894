#pragma once
// The known steps of structures that the network does not have now: former ones, and ones that may come. Plain data.
// Training thread.

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "lanes/shape/step_shape.h"
#include "program/symbolic.h"
#include "step/train_step.h"

namespace esper::lanes {

// Microbatches of a shape of step that the run has, in tensors of their own.
struct ShapeExample {
  std::vector<std::int64_t> sizes;  // as StepShape::sizes
  std::vector<step::Microbatch> batch;
  std::int64_t left = 0;  // remaining steps of the shape when it was first seen
};

// One shape of step.
struct KnownStep {
  std::string shape;
  program::Program program;
  std::optional<std::size_t> group{};    // index into KnownStructure::groups
  bool replay_agreed = false;            // its replay agreed with eager
  Variant variant{};                     // the compiled program to use; no key: none
  std::optional<LoadedProgram> ready{};  // it agreed with eager
  bool in_cache = false;                 // precompiled, not tried yet
  bool unavailable = false;              // no usable package exists

  bool waits_for_package() const { return !variant.key.empty() && !ready && !unavailable; }
};

struct KnownStructure {
  std::string structure;                           // structure_of()
  std::vector<KnownStep> steps{};                  // empty: it cannot be prepared
  std::vector<program::SymbolicProgram> groups{};  // for all batch sizes
  double prepare_ms = 0;                           // spent on preparing it ahead

  program::SymbolicProgram to_compile(const KnownStep& step) const {
    return step.group ? groups[*step.group] : program::SymbolicProgram(step.program);
  }
};

// The most recently used structures.
class StructureLibrary {
 public:
  static constexpr std::size_t kMost = 16;

  // Null if not found. Valid until the next put() or drop().
  KnownStructure* find(const std::string& structure);
  // Replaces the entry of the same structure.
  KnownStructure& put(KnownStructure known);
  void drop(const std::string& structure);

 private:
  std::list<KnownStructure> known_;  // most recently used first
};

}  // namespace esper::lanes
