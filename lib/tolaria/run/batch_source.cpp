#include "tolaria/run/batch_source.h"

#include <utility>

#include "base/interrupt.h"

namespace esper::tolaria {

using step::Microbatch;

using base::LedgerScope;
using base::Owner;

LookAhead look_ahead_for(const config::DataConfig& config, torch::Device device, const data::Loader& loader) {
  const bool on_host = loader.source() == data::Source::kThreads;
  return device.is_cuda() && on_host && config.gpu_prefetch ? LookAhead::kOneStep : LookAhead::kNone;
}

BatchSource::BatchSource(data::Loader& loader, torch::Device device, int accumulation, LookAhead look_ahead,
                         base::Ledger& ledger)
    : loader_(loader),
      ledger_(ledger),
      accumulation_(accumulation),
      look_ahead_(look_ahead),
      is_elsewhere_(!device.is_cpu() && loader.source() == data::Source::kThreads),
      copies_(device,
              look_ahead == LookAhead::kNone ? device::Staging::Stream::kCurrent : device::Staging::Stream::kSide,
              ledger) {}

void BatchSource::begin_epoch(std::int64_t epoch, std::int64_t batch) {
  loader_.seek(epoch, batch);
  ended_ = false;
  next_.reset();
}

std::optional<data::Batch> BatchSource::wait_for_batch() {
  const LedgerScope waiting(ledger_, Owner::kLoaderWait, base::SinceLast{});
  return loader_.next();
}

// The loader reports the end once; its next answer would be the next epoch's first batch. Where a signal ended a wait,
// the step that it was for is not begun.
void BatchSource::fetch(std::vector<Microbatch>& out) {
  out.clear();
  for (int i = 0; i < accumulation_ && !ended_; ++i) {
    auto batch = wait_for_batch();
    if (!batch) {
      ended_ = true;
      if (base::Interrupt::requested() != 0) out.clear();
      return;
    }
    out.push_back({std::move(batch->inputs), std::move(batch->targets)});
  }
}

void BatchSource::next(std::vector<Microbatch>& out) {
  if (look_ahead_ == LookAhead::kNone) {
    fetch(out);
    if (is_elsewhere_ && !out.empty()) copies_.take(copies_.start(out), out);
    return;
  }
  look_ahead();
  device::StagedCopy copy = std::move(*next_);
  next_.reset();
  copies_.take(std::move(copy), out);
}

void BatchSource::look_ahead() {
  if (look_ahead_ == LookAhead::kNone || next_) return;
  fetch(fetched_);
  next_ = copies_.start(fetched_);
}

}  // namespace esper::tolaria
