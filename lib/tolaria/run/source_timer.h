#pragma once
// What a batch costs, alone and in a run that trains: for the choice between sources (data/loading/source_choice.h).
// Training thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "data/loading/source_choice.h"
#include "tolaria/run/batch_source.h"

namespace esper::tolaria {

class SourceTimer {
 public:
  // Borrows the loader and the ledger. forward: of the network, queued on the device; it stands for the step, beside
  // which the next batch is drawn and copied. prepared: batches that the loader's threads have ready before a round.
  SourceTimer(data::Loader& loader, torch::Device device, const config::DataConfig& config, base::Ledger& ledger,
              std::function<void(const torch::Tensor& inputs)> forward, int prepared);

  // Draws the next few batches, at most 10 and none after 40 ms, has the forward of each computed where it is beside
  // them, and gives the microseconds of one; those that are prepared before, untimed. Nothing where a signal asks for a
  // stop.
  std::optional<double> round(data::Beside beside);

 private:
  bool deliver_next(data::Beside beside);
  std::optional<int> deliver(int most, data::Beside beside);

  torch::Device device_;
  BatchSource batches_;
  std::function<void(const torch::Tensor& inputs)> forward_;
  int prepared_;
  std::int64_t epoch_ = 0;
  std::vector<step::Microbatch> step_;
};

}  // namespace esper::tolaria
