#pragma once
// Many tensors in one piece of memory, so that one operation works on all of them. Training thread.

#include <torch/types.h>

#include <cstddef>
#include <vector>

namespace esper::step {

// Where views lie in a flat tensor, in elements.
struct Layout {
  std::vector<std::int64_t> begins;
  std::int64_t size = 0;
};
// One after the other, each at a multiple of `alignment`.
Layout layout_of(torch::TensorList shapes, std::int64_t alignment);
// On a GPU 512 bytes, as torch's allocator aligns (kMinBlockSize): kernels with wide loads need 16, and cuBLASLt
// chooses by more. On the CPU one element: without gaps.
std::int64_t alignment_on(torch::Device device);

// `views` look into `flat` in the shapes of the parameters they belong to; what lies between them is 0 and stays so.
// Both are undefined and empty where nothing is kept.
struct FlatTensors {
  torch::Tensor flat;  // [elements] float32
  std::vector<torch::Tensor> views;
  bool defined() const { return flat.defined(); }
};

// Undefined where nothing is kept.
torch::Tensor view_of(const FlatTensors& tensors, std::size_t i);
// Views of `flat`, which has as many elements as layout_of(shapes) on its device.
FlatTensors lay_out(const torch::Tensor& flat, torch::TensorList shapes);
FlatTensors flat_zeros(torch::TensorList shapes, torch::Device device);

// One-dimensional parts of views and the zeros between them: joined, they are a flat tensor on that device.
std::vector<torch::Tensor> with_gaps(std::vector<torch::Tensor> parts, std::int64_t alignment);

// Moves tensors into one piece of memory: each stays the same object with the same bits and its requires_grad, and is a
// view from now on. An earlier view of one refers to the old memory. tensors: contiguous float32.
FlatTensors move_together(torch::TensorList tensors, torch::Device device);
// The same into memory that `flat` holds already: a tensor that lies in its place stays untouched.
void move_into(FlatTensors& flat, torch::TensorList tensors);
// False once the first view was moved elsewhere: what is written into `flat` would no longer reach the tensors.
bool in_place(const FlatTensors& flat);

}  // namespace esper::step
