#include "step/gradients/flat_tensors.h"

#include "base/error.h"
#include "device/alignment.h"

namespace esper::step {
namespace {

bool lies_at(const torch::Tensor& tensor, const torch::Tensor& place) {
  return tensor.const_data_ptr() == place.const_data_ptr() && tensor.is_contiguous();
}

std::int64_t aligned(std::int64_t elements, std::int64_t alignment) {
  return (elements + alignment - 1) / alignment * alignment;
}

}  // namespace

torch::Tensor view_of(const FlatTensors& tensors, std::size_t i) {
  return tensors.defined() ? tensors.views[i] : torch::Tensor();
}

Layout layout_of(torch::TensorList shapes, std::int64_t alignment) {
  Layout layout;
  for (const torch::Tensor& tensor : shapes) {
    layout.begins.push_back(layout.size);
    layout.size += aligned(tensor.numel(), alignment);
  }
  return layout;
}

std::int64_t alignment_on(torch::Device device) {
  return device.is_cuda() ? device::kCudaAlignment / static_cast<std::int64_t>(sizeof(float)) : 1;
}

FlatTensors lay_out(const torch::Tensor& flat, torch::TensorList shapes) {
  const Layout layout = layout_of(shapes, alignment_on(flat.device()));
  ESPER_CHECK(flat.numel() == layout.size, "a flat tensor has exactly the elements of its parts");
  FlatTensors result{flat, {}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    result.views.push_back(flat.narrow(0, layout.begins[i], shapes[i].numel()).view(shapes[i].sizes()));
  }
  return result;
}

FlatTensors flat_zeros(torch::TensorList shapes, torch::Device device) {
  const std::int64_t size = layout_of(shapes, alignment_on(device)).size;
  return lay_out(at::zeros({size}, torch::dtype(torch::kFloat32).device(device)), shapes);
}

std::vector<torch::Tensor> with_gaps(std::vector<torch::Tensor> parts, std::int64_t alignment) {
  if (alignment == 1 || parts.empty()) return parts;
  const torch::Tensor zeros = at::zeros({alignment - 1}, parts.front().options());
  std::vector<torch::Tensor> all;
  for (torch::Tensor& part : parts) {
    const std::int64_t gap = aligned(part.numel(), alignment) - part.numel();
    all.push_back(std::move(part));
    if (gap > 0) all.push_back(zeros.narrow(0, 0, gap));
  }
  return all;
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
