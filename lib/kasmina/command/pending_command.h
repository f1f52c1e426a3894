#pragma once
// A command while it is executed. Training thread.

#include <torch/types.h>

#include "kasmina/tensor/tensor_table.h"
#include "leyline/command.h"

namespace esper::kasmina {

// Borrows all of it.
struct PendingCommand {
  const leyline::AdaptationCommand& command;
  const torch::Tensor& probe;  // a validation batch to measure on; may be undefined
  TensorValues& overwritten;   // receives the host's values that the command overwrites, before it does
};

}  // namespace esper::kasmina
