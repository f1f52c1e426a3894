#include "lanes/lane/replayed_forward.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "lanes/lane/step_external_tensors.h"

namespace esper::lanes {

base::Expected<std::unique_ptr<ReplayedForward>> ReplayedForward::record(const step::Model& model,
                                                                         const torch::Tensor& inputs,
                                                                         const torch::Tensor& output) {
  auto externals = step_external_tensors(model, {});
  externals.push_back({"inputs", inputs});
  externals.push_back({"output", output});
  const auto program =
      program::record(externals, [&] { output.copy_(model.network.forward(inputs, kasmina::Mode::kEvaluate)); });
  if (!program) return base::failure(program.error());
  std::unique_ptr<ReplayedForward> made(new ReplayedForward);
  made->inputs_ = inputs;
  made->output_ = output;
  std::vector<torch::Tensor> tensors;
  std::optional<std::size_t> moving;
  for (const auto& input : program->inputs) {
    // The comparison with eager would write it a second time.
    if (input.name != "output" && input.access != program::Access::kRead) {
      return base::failure("it writes " + input.name);
    }
    const auto external = std::ranges::find(externals, input.name, &program::ExternalTensor::name);
    ESPER_CHECK(external != externals.end(), "the forward reads " + input.name + ", which it was not given");
    if (input.name == "inputs") moving = tensors.size();
    tensors.push_back(external->tensor.detach());
  }
  if (!moving) return base::failure("the output does not depend on the inputs");
  made->moving_ = *moving;
  made->replay_ = std::make_unique<program::Replay>(*program, tensors, std::array{made->moving_});
  return made;
}

void ReplayedForward::capture(GraphCapture& capture, torch::Device device) {
  inputs_ = inputs_.clone();
  replay_->rebind(moving_, inputs_);
  graph_ = capture.capture(device, [this] { replay(); });
}

// What autocast did is recorded.
void ReplayedForward::replay() const {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  replay_->run();
}

const torch::Tensor& ReplayedForward::run(const torch::Tensor& inputs) {
  if (graph_ != nullptr) {
    inputs_.copy_(inputs, /*non_blocking=*/true);
    graph_->replay();
    return output_;
  }
  inputs_ = inputs;
  replay_->rebind(moving_, inputs_);
  replay();
  return output_;
}

}  // namespace esper::lanes
