#include "tolaria/run/source_timer.h"

#include "base/clock.h"
#include "device/cuda_table.h"

namespace esper::tolaria {
namespace {

constexpr int kBatchesOfRound = 10;
constexpr base::Duration kMostOfRound = std::chrono::milliseconds(40);

}  // namespace

SourceTimer::SourceTimer(data::Loader& loader, torch::Device device, const config::DataConfig& config,
                         base::Ledger& ledger, std::function<void(const torch::Tensor& inputs)> forward, int prepared)
    : device_(device),
      batches_(loader, device, /*accumulation=*/1, look_ahead_for(config, device, loader), ledger),
      forward_(std::move(forward)),
      prepared_(prepared) {
  batches_.begin_epoch(0, 0);
}

std::optional<double> SourceTimer::round(data::Beside beside) {
  if (prepared_ > 0 && !deliver(prepared_, beside)) return std::nullopt;
  const base::Clock clock;
  const auto begin = clock.now();
  const auto delivered = deliver(kBatchesOfRound, beside);
  if (!delivered) return std::nullopt;
  return std::chrono::duration<double, std::micro>(clock.now() - begin).count() / *delivered;
}

// False where a signal asks for a stop.
bool SourceTimer::deliver_next(data::Beside beside) {
  batches_.next(step_);
  if (step_.empty()) {
    batches_.begin_epoch(++epoch_, 0);
    batches_.next(step_);
  }
  if (step_.empty()) return false;
  if (beside == data::Beside::kForward) forward_(step_.front().inputs);
  batches_.look_ahead();
  return true;
}

// How many, drawn and computed to their end; nothing where a signal asks for a stop.
std::optional<int> SourceTimer::deliver(int most, data::Beside beside) {
  const base::Clock clock;
  const auto begin = clock.now();
  int delivered = 0;
  for (; delivered < most && (delivered == 0 || clock.now() - begin < kMostOfRound); ++delivered) {
    if (!deliver_next(beside)) return std::nullopt;
  }
  if (device_.is_cuda()) device::cuda().synchronize(device_.index());
  return delivered;
}

}  // namespace esper::tolaria
