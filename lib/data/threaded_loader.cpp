#include "data/threaded_loader.h"

#include <numeric>
#include <system_error>

#include "base/error.h"

namespace esper::data {
ThreadedLoader::ThreadedLoader(const Dataset& dataset, const Standardization& standardization,
                               const LoaderConfig& config)
    : dataset_(dataset),
      config_(config),
      transform_(dataset, standardization, config.augment),
      num_batches_(batches_of(num_samples(dataset), config.batch_size)),
      slots_(static_cast<std::size_t>(std::max(config.prefetch, 1))) {
  start_workers();
}

ThreadedLoader::~ThreadedLoader() { stop_workers(); }

void ThreadedLoader::start_workers() {
  stopping_ = false;
  try {
    for (int i = 0; i < config_.workers; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    const auto started = threads_.size();
    stop_workers();
    throw base::Error(base::ExitCode::kResources, "data.workers: thread " + std::to_string(started + 1) + " of " +
                                                      std::to_string(config_.workers) +
                                                      " does not start: " + error.what());
  }
}

void ThreadedLoader::stop_workers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_cv_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

Batch ThreadedLoader::make_batch(std::int64_t epoch, std::int64_t index) const {
  const auto total = num_samples(dataset_), first = index * config_.batch_size;
  const auto size = std::min(config_.batch_size, total - first);
  std::vector<std::int64_t> samples(static_cast<std::size_t>(size));
  if (config_.order == Order::kShuffled) {
    Permutation::of_epoch(total, config_.seed, epoch).fill(first, samples);
  } else {
    std::iota(samples.begin(), samples.end(), first);
  }
  const auto options = torch::TensorOptions().pinned_memory(config_.staging == Staging::kPinned);
  Batch batch{at::empty(transform_.input_sizes(size), options.dtype(transform_.input_type())),
              at::empty(transform_.target_sizes(size), options.dtype(torch::kInt64)), epoch, index, size};
  transform_.fill(samples, {config_.seed, epoch, first}, batch.inputs, batch.targets);
  return batch;
}

void ThreadedLoader::seek(std::int64_t epoch, std::int64_t batch) {
  ESPER_CHECK(epoch >= 0 && batch >= 0 && batch <= num_batches_, "seek outside the epoch");
  if (threads_.empty()) start_workers();
  const std::lock_guard lock(mutex_);
  const bool here = producing_ && epoch == epoch_ && batch == batch_;
  const bool failed = slots_[static_cast<std::size_t>(delivered_) % slots_.size()].failure != nullptr;
  if (here && !failed) return;
  epoch_ = epoch;
  batch_ = batch;
  start_producing();
}

// The caller holds the mutex.
void ThreadedLoader::start_producing() {
  stop_producing();
  producing_ = true;
  base_epoch_ = epoch_;
  base_batch_ = batch_;
  claimed_ = delivered_ = 0;
  work_cv_.notify_all();
}

void ThreadedLoader::stop_producing() {
  producing_ = false;
  ++generation_;
  for (auto& slot : slots_) slot = {};
}

std::optional<Batch> ThreadedLoader::next() {
  if (batch_ == num_batches_) {
    end_epoch();
    return std::nullopt;
  }
  auto batch = config_.workers > 0 ? take_from_workers() : make_batch(epoch_, batch_);
  ++batch_;
  return batch;
}

void ThreadedLoader::end_epoch() {
  ++epoch_;
  batch_ = 0;
  const bool ends = config_.worker_life == WorkerLife::kEpoch;
  if (ends || config_.order == Order::kSequential) {
    const std::lock_guard lock(mutex_);
    stop_producing();
  }
  if (ends) stop_workers();
}

Batch ThreadedLoader::take_from_workers() {
  if (threads_.empty()) start_workers();
  std::unique_lock lock(mutex_);
  if (!producing_) start_producing();
  auto& slot = slots_[static_cast<std::size_t>(delivered_) % slots_.size()];
  if (!ready_cv_.wait_for(lock, config_.deadline, [&] { return slot.ready(); })) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(config_.deadline).count();
    throw base::Error(base::ExitCode::kData, "data: batch " + std::to_string(batch_) + " of epoch " +
                                                 std::to_string(epoch_) + " was not ready within " +
                                                 std::to_string(ms) +
                                                 " ms; more data.workers or a smaller data.batch_size may help");
  }
  if (slot.failure) std::rethrow_exception(slot.failure);
  auto batch = std::move(*slot.batch);
  slot = {};
  ++delivered_;
  lock.unlock();
  work_cv_.notify_one();
  return batch;
}

// The caller holds the mutex.
bool ThreadedLoader::has_work() const {
  const bool room = claimed_ - delivered_ < static_cast<std::int64_t>(slots_.size());
  const bool wanted = config_.order == Order::kShuffled || base_batch_ + claimed_ < num_batches_;
  return producing_ && room && wanted;
}

void ThreadedLoader::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_cv_.wait(lock, [&] { return stopping_ || has_work(); });
    if (stopping_) return;
    const auto generation = generation_;
    const auto number = claimed_++, place = base_batch_ + number;
    const auto epoch = base_epoch_ + place / num_batches_, index = place % num_batches_;
    lock.unlock();
    Slot result;
    try {
      result.batch = make_batch(epoch, index);
    } catch (...) {
      result.failure = std::current_exception();
    }
    lock.lock();
    if (generation != generation_) continue;
    slots_[static_cast<std::size_t>(number) % slots_.size()] = std::move(result);
    ready_cv_.notify_one();
  }
}

}  // namespace esper::data
