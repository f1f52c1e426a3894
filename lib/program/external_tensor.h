#pragma once
// The memory that exists before a step and that it uses. Plain data.

#include <ATen/core/Tensor.h>

#include <string>

namespace esper::program {

// Of the external tensors of a step each storage is in one, and each that the step uses is in one of them.
struct ExternalTensor {
  enum class Role {
    kInput,   // state or batch: its contents matter before or after the step
    kScratch  // written before it is read in every step; the program makes its own
  };
  std::string name;
  at::Tensor tensor;  // contiguous from the start of its storage on, or all of what the step may see of it
  Role role = Role::kInput;
};

}  // namespace esper::program
