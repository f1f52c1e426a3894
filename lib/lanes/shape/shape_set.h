#pragma once
// The shapes of step seen in the network's present structure, and their groups. Training thread.

#include <memory>
#include <span>
#include <vector>

#include "lanes/shape/step_shape.h"
#include "step/model.h"
#include "step/train_step.h"

namespace esper::lanes {

bool has_sizes(const StepShape& shape, std::span<const step::Microbatch> microbatches);

class ShapeSet {
 public:
  // The shape of these microbatches; null if it is new. Looked up before every step, so a step of another structure or
  // shape never runs a program of this one.
  StepShape* find(std::uint64_t structure, std::span<const step::Microbatch> microbatches) const {
    for (const auto& shape : shapes_) {
      if (shape->structure == structure && has_sizes(*shape, microbatches)) return shape.get();
    }
    return nullptr;
  }
  StepShape* find(const std::string& name) const;
  // Adds a shape in its first state; only its sizes are known.
  StepShape& add(std::uint64_t structure, std::span<const step::Microbatch> microbatches);
  ShapeGroup& add_group(ShapeGroup group);
  void drop_leaderless_groups();
  void clear();

  bool empty() const { return shapes_.empty(); }
  std::span<const std::unique_ptr<StepShape>> shapes() const { return shapes_; }
  std::span<const std::unique_ptr<ShapeGroup>> groups() const { return groups_; }

  // A program for all batch sizes could not be compiled; each shape has its own.
  bool each_size_alone = false;

 private:
  std::vector<std::unique_ptr<StepShape>> shapes_;
  std::vector<std::unique_ptr<ShapeGroup>> groups_;
};

}  // namespace esper::lanes
