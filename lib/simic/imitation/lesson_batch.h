#pragma once
// Lessons side by side, so that the network runs once for all. Plain data. Any thread.

#include <array>
#include <span>
#include <vector>

#include "simic/imitation/lesson.h"

namespace esper::simic {

struct LessonBatch {
  std::vector<const Lesson*> lessons;                      // which outlive the batch
  tamiyo::HeteroGraph graphs;                              // all their graphs as one
  std::vector<std::array<int, tamiyo::kNodeTypes>> first;  // parallel to lessons: its first node of each type
};

// lessons: their graphs are ones that check_graph() accepts.
LessonBatch join_lessons(std::span<const Lesson* const> lessons);

}  // namespace esper::simic
