#pragma once
// A network with several seeds at once, for what depends on their number.

#include <memory>

#include "engine/bench/workload.h"

namespace esper::engine::bench {

inline constexpr int kMostSeeds = 4;

// The workload's host with four blocks, a 2 x 2 pool after each of the first two, and a newborn seed in each of the
// first `seeds` slots. aggregation: of its training steps. The workload's host is a cnn.
std::unique_ptr<step::Model> grown_model(const Workload& workload, int seeds,
                                         const config::AggregationConfig& aggregation = {});

// The same with the seeds in TRAINING, in that form.
std::unique_ptr<step::Model> training_model(const Workload& workload, int seeds, config::SeedTraining training);

}  // namespace esper::engine::bench
