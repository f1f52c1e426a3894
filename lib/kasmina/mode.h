#pragma once
// Whether a forward pass trains or evaluates, and what it changes.

namespace esper::kasmina {

// kTrain: batch norm uses batch statistics and updates the running ones, dropout is on. kTrainReadOnly: the same, but
// no buffer is changed. kEvaluate: neither.
enum class Mode { kTrain, kTrainReadOnly, kEvaluate };

constexpr bool is_training(Mode mode) { return mode != Mode::kEvaluate; }

}  // namespace esper::kasmina
