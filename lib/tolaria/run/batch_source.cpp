#include "tolaria/run/batch_source.h"

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
      copies_(!device.is_cpu() && loader.source() == data::Source::kThreads),
      staging_(device,
               look_ahead == LookAhead::kNone ? device::Staging::Stream::kCurrent : device::Staging::Stream::kSide) {}

void BatchSource::begin_epoch(std::int64_t epoch, std::int64_t batch) {
  loader_.seek(epoch, batch);
  ended_ = under_way_ = false;
  next_ = {};
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

device::StagedCopy BatchSource::start(const std::vector<Microbatch>& host) {
  const LedgerScope copying(ledger_, Owner::kTransfer);
  tensors_.clear();
  for (const auto& each : host) tensors_.insert(tensors_.end(), {each.inputs, each.targets});
  return staging_.start(tensors_);
}

void BatchSource::take(device::StagedCopy copy, std::vector<Microbatch>& out) {
  const LedgerScope copying(ledger_, Owner::kTransfer);
  auto tensors = staging_.take(std::move(copy));
  out.clear();
  for (std::size_t i = 0; i < tensors.size(); i += 2) out.push_back({std::move(tensors[i]), std::move(tensors[i + 1])});
}

void BatchSource::next(std::vector<Microbatch>& out) {
  if (look_ahead_ == LookAhead::kNone) {
    fetch(out);
    if (copies_ && !out.empty()) take(start(out), out);
    return;
  }
  look_ahead();
  under_way_ = false;
  take(std::move(next_), out);
}

void BatchSource::look_ahead() {
  if (look_ahead_ == LookAhead::kNone || under_way_) return;
  fetch(fetched_);
  next_ = start(fetched_);
  under_way_ = true;
}

}  // namespace esper::tolaria
