#include "data/loading/threaded_loader.h"

#include <fmt/core.h>

#include <limits>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "base/fault.h"
#include "base/interrupt.h"
#include "data/order/permutation.h"
#include "data/process/sample_process.h"

namespace esper::data {
namespace {

// A process answers one question at a time.
int threads_for(const Dataset& dataset, int workers) { return dataset.process ? std::min(workers, 1) : workers; }

// As a read from a dead network disk does.
[[noreturn]] void hang() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

std::span<char> bytes_of(torch::Tensor& tensor) {
  return {static_cast<char*>(tensor.mutable_data_ptr()), tensor.nbytes()};
}

}  // namespace

ThreadedLoader::ThreadedLoader(const Dataset& dataset, const Standardization& standardization,
                               const LoaderConfig& config)
    : dataset_(dataset),
      config_(config),
      transform_(dataset, standardization, config.augment),
      num_batches_(batches_of(samples_per_epoch(num_samples(dataset), config.epoch_samples), config.batch_size)),
      prefetch_(threads_for(dataset, config.workers), config.prefetch,
                [this](std::int64_t number) { return make_batch(number / num_batches_, number % num_batches_); }) {
  if (dataset.process) dataset.process->ensure_running();
}

ThreadedLoader::~ThreadedLoader() {
  if (dataset_.process) dataset_.process->interrupt();
}

torch::Tensor ThreadedLoader::host_tensor(torch::IntArrayRef sizes, torch::ScalarType type) {
  return config_.staging == Staging::kPinned ? pinned_.empty(sizes, type) : at::empty(sizes, type);
}

Batch ThreadedLoader::make_batch(std::int64_t epoch, std::int64_t index) {
  if (base::fault::hit("data.hangs")) hang();
  const auto total = num_samples(dataset_), first = index * config_.batch_size;
  const auto size = std::min(config_.batch_size, samples_per_epoch(total, config_.epoch_samples) - first);
  std::vector<std::int64_t> samples(static_cast<std::size_t>(size));
  if (config_.order == Order::kShuffled) {
    Permutation::of_epoch(total, config_.seed, epoch).fill(first, samples);
  } else {
    std::iota(samples.begin(), samples.end(), first);
  }
  Batch batch{host_tensor(transform_.input_sizes(size), transform_.input_type()),
              host_tensor(transform_.target_sizes(size), transform_.target_type()), epoch, index, size};
  if (dataset_.process) return fetched_batch(std::move(batch));
  transform_.fill(samples, {config_.seed, epoch, first}, batch.inputs, batch.targets);
  return batch;
}

Batch ThreadedLoader::fetched_batch(Batch batch) const {
  const BatchRequest request{batch.epoch, batch.index, batch.index * config_.batch_size, batch.size};
  if (dataset_.inputs.scalar_type() == batch.inputs.scalar_type()) {
    dataset_.process->fetch(request, bytes_of(batch.inputs), bytes_of(batch.targets), config_.deadline);
    return batch;
  }
  std::vector<char> pixels(static_cast<std::size_t>(batch.inputs.numel()));
  dataset_.process->fetch(request, pixels, bytes_of(batch.targets), config_.deadline);
  auto* out = batch.inputs.data_ptr<float>();
  for (const char pixel : pixels) *out++ = static_cast<float>(static_cast<std::uint8_t>(pixel)) / 255.f;
  return batch;
}

void ThreadedLoader::seek(std::int64_t epoch, std::int64_t batch) {
  ESPER_CHECK(epoch >= 0 && batch >= 0 && batch <= num_batches_, "seek outside the epoch");
  epoch_ = epoch;
  batch_ = batch;
  if (!prefetch_.gives(epoch * num_batches_ + batch)) start_producing();
}

void ThreadedLoader::start_producing() {
  // Threads that end with the epoch read nothing of the next one, which they would be waited for.
  const bool ends = config_.order == Order::kSequential || config_.worker_life == WorkerLife::kEpoch;
  const auto end = ends ? (epoch_ + 1) * num_batches_ : std::numeric_limits<std::int64_t>::max();
  prefetch_.start(epoch_ * num_batches_ + batch_, end);
}

std::optional<Batch> ThreadedLoader::next(std::chrono::nanoseconds after_signal) {
  if (batch_ == num_batches_) {
    end_epoch();
    return std::nullopt;
  }
  std::optional<Batch> batch;
  try {
    batch = config_.workers > 0 ? take_from_workers(after_signal) : make_batch(epoch_, batch_);
  } catch (const base::Error&) {
    if (!base::Interrupt::requested_for(after_signal)) throw;
  }
  if (batch) ++batch_;
  return batch;
}

void ThreadedLoader::end_epoch() {
  ++epoch_;
  batch_ = 0;
  if (config_.worker_life == WorkerLife::kEpoch) {
    prefetch_.end_threads();
  } else if (config_.order == Order::kSequential) {
    prefetch_.stop();
  }
}

// Nothing where a signal asks for a stop meanwhile, and did so after_signal ago.
std::optional<Batch> ThreadedLoader::take_from_workers(std::chrono::nanoseconds after_signal) {
  if (!prefetch_.is_running()) start_producing();
  // What a process does wrong is reported by the thread that asks it, within the same time.
  const auto grace = dataset_.process ? std::chrono::seconds(1) : std::chrono::seconds(0);
  const auto is_to_stop = [&] { return base::Interrupt::requested_for(after_signal); };
  auto batch = prefetch_.take(config_.deadline + grace, is_to_stop);
  if (!batch && !is_to_stop()) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(config_.deadline).count();
    throw base::Error(
        base::ExitCode::kData,
        fmt::format(
            "data: batch {} of epoch {} was not ready within {} ms; raise data.workers or lower data.batch_size",
            batch_, epoch_, ms));
  }
  return batch;
}

}  // namespace esper::data
