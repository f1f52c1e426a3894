#pragma once
// The validation pass: loss and accuracy on samples that are not trained on. Training thread.

#include <cstdint>
#include <functional>
#include <optional>

#include "step/train_step.h"
#include "tolaria/run/control_record.h"

namespace esper::tolaria {

struct ValidationResult {
  double loss = 0;            // mean cross entropy over target elements, without label smoothing
  double accuracy = 0;        // 0..1, over target elements
  std::int64_t targets = 0;   // one per sample; for text, one per character
  std::int64_t samples = 0;   // rows of the batches; for text, sequences
  bool complete = true;       // false: should_stop ended it early; the values are partial
  SampleFigures by_sample{};  // PerSample::kKept
};

// Whether each sample's figures are kept, too. They cost a second pass over the logits and change no other value.
enum class PerSample { kNotKept, kKept };

// The next batch; empty at the end.
using NextBatch = std::function<std::optional<step::Microbatch>()>;

struct Validation {
  torch::Device device = torch::kCPU;
  torch::ScalarType compute_type = torch::kFloat32;  // of autocast, as in StepSettings
  std::function<bool()> should_stop;                 // polled before each batch; may be empty
  PerSample per_sample = PerSample::kNotKept;
};

// forward: the network in evaluation mode. It runs in inference mode; next_batch runs outside of it, since tensors made
// in inference mode cannot be trained on. Reads the device once, at the end. Without batches, samples is 0.
ValidationResult validate(const NextBatch& next_batch, const step::Forward& forward, const Validation& validation);

}  // namespace esper::tolaria
