#pragma once
// What the steps of an epoch show of each growing seed: sums that grow on the device, inside the step, and are read
// once. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kasmina/tensor/tensor_table.h"

namespace esper::step {

// Columns of SeedSums::figures.
enum SeedFigure : std::int64_t {
  kSeedSteps = 0,            // steps that added to this row
  kSeedWeight = 1,           // what the seed's vector counted in the sum; 1 is plain
  kSeedTeacherShare = 2,     // share of the microbatches' gradients on the host that it answered for
  kSeedConflicts = 3,        // others that its vector was in conflict with
  kSeedComparisons = 4,      // others that its vector was compared with
  kIsolationDot = 5,         // inner product of the gradients past the seed and through it, at the slot
  kIsolationHostNorm = 6,    // L2 norm of the gradient past it
  kIsolationSeedNorm = 7,    // L2 norm of the gradient through it
  kIsolationViolations = 8,  // microbatches where an isolated seed's gradient reached the host
  kNumSeedFigures = 9,
};

// A parameter of a growing seed.
struct SeedParameter {
  std::string id;
  std::size_t seed = 0;  // index into SeedSums::seed_ids
  std::string layer;     // the id without its last part
  bool operator==(const SeedParameter&) const = default;
};

struct SeedSums {
  torch::Tensor figures;              // float64 [growing seeds, kNumSeedFigures]; "metrics.seed_figures"
  torch::Tensor layer_squares;        // float64 [their parameters]: squared gradient norm; "metrics.seed_layers"
  std::vector<std::string> seed_ids;  // order of birth
  std::vector<SeedParameter> parameters;
};

// What one epoch showed of one seed.
struct SeedMetrics {
  double weight = 1, teacher_share = 0;                                        // means over steps
  double conflicts = 0, comparisons = 0;                                       // totals
  double isolation_dot = 0, isolation_host_norm = 0, isolation_seed_norm = 0;  // means over steps
  double isolation_violations = 0;                                             // total
  // Root mean square over the steps of each layer's gradient norm, largest first.
  std::vector<std::pair<std::string, double>> layers;
};

// Rows of seeds that stay are carried, new ones are zero.
void sync_seed_sums(SeedSums& sums, const std::vector<std::string>& seed_ids,
                    const std::vector<SeedParameter>& parameters, torch::Device device);
// Nothing while no seed grows.
void append_named(const SeedSums& sums, std::vector<kasmina::NamedTensor>& out);

// `read`: the figures, then the squares, as float64 on the host.
std::vector<std::pair<std::string, SeedMetrics>> read_seed_sums(const SeedSums& sums, const double* read);

}  // namespace esper::step
