#include "step/gradients/flat_tensors.h"

#include "base/error.h"

namespace esper::step {
namespace {

bool lies_at(const torch::Tensor& tensor, const torch::Tensor& place) {
  return tensor.const_data_ptr() == place.const_data_ptr() && tensor.is_contiguous();
}

}  // namespace

torch::Tensor view_of(const FlatTensors& tensors, std::size_t i) {
  return tensors.defined() ? tensors.views[i] : torch::Tensor();
}

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

FlatTensors move_together(torch::TensorList tensors, torch::Device device) {
  FlatTensors flat = flat_zeros(tensors, device);
  move_into(flat, tensors);
  return flat;
}

void move_into(FlatTensors& flat, torch::TensorList tensors) {
  at::NoGradGuard no_grad;
  const std::vector<torch::Tensor> places = lay_out(flat.flat, tensors).views;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!lies_at(tensors[i], places[i])) {
      ESPER_CHECK(tensors[i].scalar_type() == torch::kFloat32, "a trained parameter is float32");
      torch::Tensor(places[i]).copy_(tensors[i]);
      tensors[i].set_data(places[i]);
    }
    flat.views[i] = tensors[i];
  }
}

bool in_place(const FlatTensors& flat) {
  return flat.views.empty() || flat.views.front().const_data_ptr() == flat.flat.const_data_ptr();
}

}  // namespace esper::step
