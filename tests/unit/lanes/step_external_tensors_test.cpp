#include "lanes/lane/step_external_tensors.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <string>
#include <vector>

#include "step/step_state.h"
#include "support/models/lane_cases.h"

namespace esper::test::step_external_tensors_test {

using namespace esper::tests;
using lanes::StepSnapshot;

namespace {

// As copies of a GPU are made: all in one piece of memory.
std::vector<torch::Tensor> together(const std::vector<torch::Tensor>& tensors) {
  constexpr std::int64_t kLine = 64;
  std::int64_t bytes = kLine;
  for (const auto& tensor : tensors) bytes += static_cast<std::int64_t>(tensor.nbytes()) + kLine;
  const auto memory = at::zeros({bytes}, torch::dtype(torch::kUInt8));
  std::vector<torch::Tensor> copies;
  std::int64_t begin = kLine;
  for (const auto& tensor : tensors) {
    const auto size = static_cast<std::int64_t>(tensor.nbytes());
    copies.push_back(memory.narrow(0, begin, size).view(tensor.scalar_type()).view(tensor.sizes()));
    copies.back().copy_(tensor.detach());
    begin += (size + kLine - 1) / kLine * kLine;
  }
  return copies;
}

}  // namespace

TEST_CASE("a snapshot has the values of each tensor and of each part of one, wherever its copies lie") {
  for (const LaneCase& c : lane_cases()) {
    CAPTURE(c.name);
    auto model = make_model(c);
    const auto batch = make_batches(c, 1);
    step::train_step(model->state, model->settings, batch, step::training_forward(model->network));
    std::map<std::string, torch::Tensor> before;
    for (const auto& [id, tensor] : named_tensors(model->state)) before[id] = tensor.detach().clone();
    const StepSnapshot beside(*model, torch::kCPU), elsewhere(*model, torch::kCPU, together);
    step::train_step(model->state, model->settings, batch, step::training_forward(model->network));
    for (const auto* snapshot : {&beside, &elsewhere}) {
      for (const auto& [id, tensor] : named_tensors(model->state)) {
        CAPTURE(id);
        CHECK(torch::equal(snapshot->saved(tensor), before.at(id)));
      }
    }
    elsewhere.restore();
    for (const auto& [id, tensor] : named_tensors(model->state)) CHECK(torch::equal(tensor, before.at(id)));
  }
}

}  // namespace esper::test::step_external_tensors_test
