#pragma once
// The controls of a run's growing seeds, and what they cost so far: plain data that checkpoints carry, the tensors
// among theirs, the rest with the progress. What a control is: tolaria/growth/control.h.

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/expected.h"
#include "kasmina/tensor/tensor_table.h"

namespace esper::tolaria {

// Of each validation sample, in the data's order; for text a sample is a window. Float32 [samples] on the CPU.
struct SampleFigures {
  torch::Tensor loss;     // mean cross entropy of its targets
  torch::Tensor correct;  // fraction of its targets that are predicted right
};

// Kept as long as an epoch is left to compare.
struct SeedControl {
  std::uint32_t compared = 0;  // epochs
  std::string others;          // the other seeds of the network that the control trained: tolaria/growth/worth.h
  std::vector<double> learning_rates;  // of the last step of each epoch; empty in checkpoints of earlier versions
  // Float32 [epochs, samples] on the CPU, never written in place: the control's figures after each epoch; in the first
  // `compared` rows the differences from the running network's, above 0 where that one is better.
  torch::Tensor loss, correct;

  std::uint32_t epochs() const { return loss.defined() ? static_cast<std::uint32_t>(loss.size(0)) : 0; }
};

struct ControlRecord {
  std::int64_t steps = 0;                    // trained for all controls of the run
  double took_ms = 0;                        // of all controls, their validation included
  std::map<std::string, SeedControl> seeds;  // by seed id
};

// Without the tensors.
nlohmann::json to_json(const ControlRecord& record);
// `saved`: null in checkpoints of before there were controls. Throws as run_progress_from_json.
ControlRecord control_record_from_json(const nlohmann::json& saved);

// "control.seed-0001.loss", "control.seed-0001.correct"; they begin with step::kRunTensors.
std::vector<kasmina::NamedTensor> control_tensors(const ControlRecord& record);
// Takes them from a checkpoint's.
base::Expected<void> restore_tensors(ControlRecord& record, const std::vector<kasmina::NamedTensor>& saved);

}  // namespace esper::tolaria
