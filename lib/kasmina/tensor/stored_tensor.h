#pragma once
// Tensors as safetensors files hold them. Training thread.

#include "base/expected.h"
#include "kasmina/tensor/tensor_table.h"
#include "storage/safetensors/tensor_view.h"

namespace esper::kasmina {

// Looks into the tensor, which is a contiguous one on the CPU of a type that can be saved.
storage::TensorView view_of(const NamedTensor& named);

// A copy on the CPU. Fails if the type is one that nothing here saves.
base::Expected<NamedTensor> tensor_of(const storage::TensorView& view);

}  // namespace esper::kasmina
