#pragma once
// Whether a forward pass trains or evaluates.

namespace esper::kasmina {

// kTrain: batch norm uses and updates batch statistics, dropout is on. kEvaluate: neither.
enum class Mode { kTrain, kEvaluate };

}  // namespace esper::kasmina
