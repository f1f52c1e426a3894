#pragma once
// Many tensors in one piece of memory, so that one operation works on all of them. Training thread.

#include <torch/types.h>

#include <cstddef>
#include <vector>

namespace esper::step {

// `views` look into `flat` one after the other, without gaps, in the shapes of the parameters they belong to. Both are
// undefined and empty where nothing is kept.
struct FlatTensors {
  torch::Tensor flat;  // [elements] float32
  std::vector<torch::Tensor> views;
  bool defined() const { return flat.defined(); }
};

// Undefined where nothing is kept.
torch::Tensor view_of(const FlatTensors& tensors, std::size_t i);
std::int64_t count_elements(torch::TensorList shapes);
// Views of `flat`, which has count_elements(shapes) elements.
FlatTensors lay_out(const torch::Tensor& flat, torch::TensorList shapes);
FlatTensors flat_zeros(torch::TensorList shapes, torch::Device device);

// Moves tensors into one piece of memory: each stays the same object with the same bits and its requires_grad, and is a
// view from now on. An earlier view of one refers to the old memory. tensors: contiguous float32.
FlatTensors move_together(torch::TensorList tensors, torch::Device device);
// The same into memory that `flat` holds already: a tensor that lies in its place stays untouched.
void move_into(FlatTensors& flat, torch::TensorList tensors);
// False once the first view was moved elsewhere: what is written into `flat` would no longer reach the tensors.
bool in_place(const FlatTensors& flat);

}  // namespace esper::step
