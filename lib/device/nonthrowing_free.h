#pragma once
// Memory that torch frees without an exception. Where streams of a GPU used memory, its end records an event in each
// of them. On a GPU that is lost that fails, and torch's allocators throw in a destructor, which would end the process
// before it has saved and reported anything.

#include <ATen/core/Tensor.h>

namespace esper::device {

// Whose the memory is: torch keeps one allocator for each.
enum class MemoryOf { kCard, kHost };

// From now on the end of the tensor's memory throws nothing; on a GPU that is lost the memory is not used again. After
// Tensor::record_stream(), which does nothing from then on. Memory of another allocator than that of the first tensor
// stays as it is. Any thread.
void make_free_nonthrowing(const at::Tensor& tensor, MemoryOf memory);

}  // namespace esper::device
