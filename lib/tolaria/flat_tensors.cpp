#include "tolaria/flat_tensors.h"

#include "leyline/error.h"

namespace esper::tolaria {

std::int64_t count_elements(torch::TensorList shapes) {
  std::int64_t count = 0;
  for (const torch::Tensor& tensor : shapes) count += tensor.numel();
  return count;
}

FlatTensors lay_out(const torch::Tensor& flat, torch::TensorList shapes) {
  ESPER_CHECK(flat.numel() == count_elements(shapes), "a flat tensor has exactly the elements of its parts");
  FlatTensors result{flat, {}};
  std::int64_t begin = 0;
  for (const torch::Tensor& tensor : shapes) {
    result.views.push_back(flat.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
  return result;
}

FlatTensors flat_zeros(torch::TensorList shapes, torch::Device device) {
  return lay_out(at::zeros({count_elements(shapes)}, torch::dtype(torch::kFloat32).device(device)), shapes);
}

}  // namespace esper::tolaria
