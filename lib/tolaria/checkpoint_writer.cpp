#include "tolaria/checkpoint_writer.h"

#include <algorithm>

namespace esper::tolaria {

CheckpointWriter::CheckpointWriter(CheckpointStore& store, leyline::Clock clock, leyline::Duration deadline)
    : store_(store), clock_(std::move(clock)), deadline_(deadline), thread_([this] { work(); }) {}

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

CheckpointWriter::Handover CheckpointWriter::submit(CheckpointImage image, CheckpointStore::Rank rank) {
  std::unique_lock lock(mutex_);
  const auto no_image_waits = [&] {
    return std::ranges::none_of(queue_, [](const Job& job) { return job.image.has_value(); });
  };
  const bool free =
      clock_.wait_until(changed_, lock, clock_.now() + deadline_, [&] { return !busy_ && no_image_waits(); });
  if (!free) return Handover::kBusy;
  queue_.push_back({std::move(image), rank, {}});
  changed_.notify_all();
  return Handover::kTaken;
}

void CheckpointWriter::record(std::string json_text) {
  const std::lock_guard lock(mutex_);
  queue_.push_back({std::nullopt, CheckpointStore::Rank::kOrdinary, std::move(json_text)});
  changed_.notify_all();
}

bool CheckpointWriter::flush() {
  std::unique_lock lock(mutex_);
  return clock_.wait_until(changed_, lock, clock_.now() + deadline_, [&] { return !busy_ && queue_.empty(); });
}

std::vector<SaveResult> CheckpointWriter::take_results() {
  const std::lock_guard lock(mutex_);
  return std::exchange(results_, {});
}

void CheckpointWriter::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Job job = std::move(queue_.front());
    queue_.erase(queue_.begin());
    busy_ = true;
    lock.unlock();
    auto result = perform(job);
    lock.lock();
    if (result) results_.push_back(std::move(*result));
    busy_ = false;
    changed_.notify_all();
  }
}

std::optional<SaveResult> CheckpointWriter::perform(const Job& job) {
  SaveResult result;
  const auto begin = clock_.now();
  try {
    if (!job.image) {
      store_.record(job.note);
      return std::nullopt;
    }
    result.info = job.image->info;
    if (const auto bad = first_not_finite(job.image->tensors); !bad.empty()) {
      result.problem = "tensor " + bad + " is not finite; such a state is not worth going back to";
      return result;
    }
    const auto published = store_.publish(*job.image, job.rank);
    result.path = published.entry.path;
    result.bytes = published.bytes;
  } catch (const leyline::IoError& error) {
    result.problem = error.what();
    result.out_of_space = error.out_of_space();
  } catch (const std::exception& error) {
    result.problem = error.what();
  }
  result.save_ms = std::chrono::duration<double, std::milli>(clock_.now() - begin).count();
  return result;
}

}  // namespace esper::tolaria
