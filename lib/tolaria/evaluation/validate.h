#pragma once
// The validation pass: how good the network is on samples it does not learn from. Training thread.

#include <cstdint>
#include <functional>
#include <optional>

#include "step/train_step.h"

namespace esper::tolaria {

struct ValidationResult {
  double loss = 0;           // mean cross entropy over target elements, without label smoothing
  double accuracy = 0;       // 0..1, over target elements
  std::int64_t targets = 0;  // target elements: one for a sample, of text one for each character
  std::int64_t samples = 0;  // rows of the batches; of text, sequences
  bool complete = true;      // false: should_stop ended it early, the figures are of a part
};

// The next batch, or nothing at the end.
using NextBatch = std::function<std::optional<step::Microbatch>()>;

struct Validation {
  torch::Device device = torch::kCPU;
  torch::ScalarType compute_type = torch::kFloat32;  // of autocast, as in StepSettings
  std::function<bool()> should_stop;                 // polled before each batch; may be empty
};

// forward: the network in evaluation mode. Runs it in inference mode; next_batch runs outside of it, since a tensor
// made in inference mode could never be trained on. Reads the device once, at the end. No batches: samples is 0.
ValidationResult validate(const NextBatch& next_batch, const step::Forward& forward, const Validation& validation);

}  // namespace esper::tolaria
