#pragma once
// The rows that run in this process: one for each lane of Esper, and a loop over libtorch as one writes it by hand.

#include <functional>
#include <memory>
#include <string>

#include "config/step_config.h"
#include "engine/bench/rounds.h"
#include "engine/bench/workload.h"

namespace esper::engine::bench {

struct Trainee {
  std::string name;
  std::function<void()> step;                              // the next step of the workload
  std::function<std::vector<torch::Tensor>()> parameters;  // as they are now, in the network's order
  double warmup_ms = 0;
  std::string refusal;  // why it cannot run; empty: step works
};

// Each has its own model, at the run's start, and goes through the same batches. The workload outlives it.
Trainee lane_trainee(const Workload& workload, config::Lane lane);
// The same with another model and other steps; the steps outlive it, too.
Trainee lane_trainee(const Workload& workload, config::Lane lane, std::unique_ptr<step::Model> model,
                     const std::vector<Microbatches>& steps);
// forward, cross entropy, backward, clipping where asked for, the fused optimizer; no figures about the training.
Trainee handwritten_trainee(const Workload& workload);

Contender contender_of(Trainee trainee, torch::Device device);

// How far two trainees are apart after the same steps.
struct Agreement {
  double difference = 0;  // largest RMS difference of a parameter tensor, over the largest RMS change of any
  double tolerance = 0;   // of this precision and this network
  bool holds() const { return difference <= tolerance; }
};
// Steps both; each should be fresh. Random operators draw from the same seed; lanes may number their draws differently,
// so with dropout the comparison is as coarse as the noise of a step. A network that carries a rounding error of its
// own parameters further than the precision's tolerance may be apart by four times that much.
Agreement compare(const Trainee& a, const Trainee& b, const Workload& workload);

}  // namespace esper::engine::bench
