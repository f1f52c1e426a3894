#pragma once
// The tensors of two checkpoints, bit by bit, by what they are for. Any thread.

#include <string>
#include <vector>

#include "drill/aspect.h"

namespace esper::drill {

// An aspect for each kind of tensor that one of the files has. Paths of two state.safetensors. Throws
// Error{kCheckpoint} where one is no such file, and IoError.
std::vector<Aspect> compare_tensors(const std::string& reference, const std::string& other);

}  // namespace esper::drill
