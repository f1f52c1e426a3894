#pragma once
// Whether a forward pass trains or evaluates, and what it changes.

namespace esper::kasmina {

// kTrain: batch norm uses batch statistics and updates the running ones, dropout is on. kTrainNoDropout: the same, but
// no random number is drawn. kTrainReadOnly: nor is a buffer changed. kEvaluate: batch norm uses the running
// statistics.
enum class Mode { kTrain, kTrainNoDropout, kTrainReadOnly, kEvaluate };

constexpr bool is_training(Mode mode) { return mode != Mode::kEvaluate; }
constexpr bool has_dropout(Mode mode) { return mode == Mode::kTrain; }

}  // namespace esper::kasmina
