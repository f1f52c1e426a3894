#pragma once
// Many tensors in one piece of memory, so that one operation works on all of them. Training thread.

#include <torch/types.h>

#include <vector>

namespace esper::tolaria {

// `views` look into `flat` one after the other, without gaps, in the shapes of the parameters they belong to. Both are
// undefined and empty where nothing is kept.
struct FlatTensors {
  torch::Tensor flat;  // [elements] float32
  std::vector<torch::Tensor> views;
  bool defined() const { return flat.defined(); }
};

std::int64_t count_elements(torch::TensorList shapes);
// Views of `flat`, which has count_elements(shapes) elements.
FlatTensors lay_out(const torch::Tensor& flat, torch::TensorList shapes);
FlatTensors flat_zeros(torch::TensorList shapes, torch::Device device);

}  // namespace esper::tolaria
