#pragma once
// The shapes of step that the network's present structure has met, and their groups. Training thread.

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
  // The shape of these microbatches; null where it was not met yet. Asked before every launch: a step of another
  // structure or shape never meets a program of this one.
  StepShape* find(std::uint64_t structure, std::span<const step::Microbatch> microbatches) const {
    for (const auto& shape : shapes_) {
      if (shape->structure == structure && has_sizes(*shape, microbatches)) return shape.get();
    }
    return nullptr;
  }
  StepShape* find(const std::string& name) const;
  // A shape in its first state, with nothing known of it but its sizes.
  StepShape& add(std::uint64_t structure, std::span<const step::Microbatch> microbatches);
  ShapeGroup& add_group(ShapeGroup group);
  void drop_leaderless_groups();
  void clear();

  bool empty() const { return shapes_.empty(); }
  std::span<const std::unique_ptr<StepShape>> shapes() const { return shapes_; }
  std::span<const std::unique_ptr<ShapeGroup>> groups() const { return groups_; }

  // A program for all batch sizes could not be compiled: each shape has its own.
  bool each_size_alone = false;

 private:
  std::vector<std::unique_ptr<StepShape>> shapes_;
  std::vector<std::unique_ptr<ShapeGroup>> groups_;
};

}  // namespace esper::lanes
