#pragma once
// The measurements of an epoch, as the network receives them. Any thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kasmina/seed/seed.h"

namespace esper::kasmina {

// Measurements of one seed in one epoch; fields that were not measured stay empty.
struct SeedFacts {
  std::string seed_id;
  double gradient_norm = 0;                      // mean over the epoch's steps, L2 over the seed's parameters
  std::optional<double> accuracy_without;        // validation accuracy with the seed's alpha at 0
  std::optional<double> accuracy_at_full_alpha;  // validation accuracy with the seed's alpha at 1
  double isolation_violations = 0;               // microbatches where a closed gate leaked its gradient into the host
  std::optional<leyline::SeedWorth> worth = {};  // so far, this epoch included; empty: without a control
  std::optional<double> learning_rate = {};      // its own, of the last step; empty: the run's
};

struct EpochFacts {
  std::uint32_t epoch = 0;                              // epochs completed, this one included
  double validation_loss = 0, validation_accuracy = 0;  // accuracy 0..1
  double host_gradient_norm = 0;                        // L2 over the parameters that the host owns
  double learning_rate = 0;
  std::vector<SeedFacts> seeds;
  std::map<std::string, SeedValue> seed_value;  // by seed id, if measured
  std::string undone;                           // why the epoch was rolled back; else empty
  std::vector<std::string> undone_seeds;        // that are culled for it
};

}  // namespace esper::kasmina
