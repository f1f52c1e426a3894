#pragma once
// Batch norm's running statistics, for parameters that no step has run with. Training thread.

#include <torch/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "kasmina/network.h"

namespace esper::step {

// What the network's batch norms write while they train, as its modules hold it: running means and variances, [C], and
// how many batches they saw, 0-dim int64.
std::vector<kasmina::NamedTensor> running_statistics(const kasmina::Network& network);

// What a forward adds of the batch's own to that buffer of the network, of 1; 0: it is no running mean or variance.
double statistic_momentum(const kasmina::Network& network, const std::string& id);

// Inputs of a batch, on the network's device; empty at the end.
using NextInputs = std::function<std::optional<torch::Tensor>()>;

// While it lives the network's buffers may hold other values; then they get back the very bits they had. The tensors
// stay the same objects. No step may run meanwhile.
class BatchStatistics {
 public:
  explicit BatchStatistics(const kasmina::Network& network);
  ~BatchStatistics();
  BatchStatistics(const BatchStatistics&) = delete;
  BatchStatistics& operator=(const BatchStatistics&) = delete;

  // The network has batch norm.
  bool exist() const { return !statistics_.empty(); }

  // Makes the running statistics the means of the batches' own, each batch counted alike, under the parameters as they
  // are: torch.optim.swa_utils.update_bn. A forward in training mode for each batch, with the seeds in the shadow
  // beside it, without gradients; dropout draws from the default generators. Without a batch the statistics stay. Once.
  void recompute(const NextInputs& next_inputs, torch::ScalarType compute_type);
  // Copies of the running statistics as they are, on the CPU, by the buffers' ids.
  std::vector<kasmina::NamedTensor> copies() const;
  // Makes the running statistics those copies. Fails, with the statistics as they were, where one is missing or has
  // another shape. Once, instead of recompute().
  base::Expected<void> put(const std::vector<kasmina::NamedTensor>& copies);

 private:
  struct Statistic {
    std::string id;
    torch::Tensor tensor;  // running mean or variance, [C]
    double momentum = 0;   // what a forward adds of the batch's own
  };

  void keep();

  const kasmina::Network& network_;
  kasmina::TensorValues kept_;  // every buffer, from recompute() or put() on
  std::vector<Statistic> statistics_;
};

}  // namespace esper::step
