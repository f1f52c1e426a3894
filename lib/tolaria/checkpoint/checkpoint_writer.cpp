#include "tolaria/checkpoint/checkpoint_writer.h"

#include <torch/types.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "base/interrupt.h"

namespace esper::tolaria {
namespace {

using base::Duration;
using Rank = CheckpointStore::Rank;
using Urgency = CheckpointWriter::Urgency;

constexpr Duration kGlance = std::chrono::milliseconds(20);  // how often a wait looks for a signal

struct Job {
  std::optional<CheckpointImage> image;  // else a record:
  Rank rank = Rank::kOrdinary;
  std::string record;                               // of the journal
  std::optional<leyline::DecisionLine> decision{};  // of the log of decisions
  Urgency urgency = Urgency::kOrdinary;             // of an image
};

// Where the disk is full, the last save takes the space that was kept for it.
CheckpointStore::Published publish(CheckpointStore& store, const Job& job, SaveResult& result) {
  try {
    return store.publish(*job.image, job.rank);
  } catch (const base::IoError& error) {
    if (job.urgency != Urgency::kLast || !error.out_of_space()) throw;
    result.released = store.give_up_space();
    if (result.released == 0) throw;
  }
  return store.publish(*job.image, job.rank);
}

// Of its tensors, which are nearly all of it.
std::uint64_t bytes_of(const CheckpointImage& image) {
  std::uint64_t bytes = 0;
  for (const auto& [id, tensor] : image.tensors) bytes += tensor.nbytes();
  return bytes;
}

void save(CheckpointStore& store, const Job& job, SaveResult& result) {
  result.info = job.image->info;
  if (const auto bad = first_not_finite(*job.image); !bad.empty()) {
    result.not_finite = true;
    result.problem = bad + " is not finite; such a state is not saved";
    return;
  }
  // The network may have grown since. Where nothing is kept yet, a first checkpoint is worth more.
  if (job.urgency == Urgency::kOrdinary && store.kept_space() > 0) {
    result.not_reserved = store.keep_space(bytes_of(*job.image));
  }
  const auto published = publish(store, job, result);
  result.path = published.entry.path;
  result.bytes = published.bytes;
  result.not_deleted = published.not_deleted;
  result.not_rotated = published.not_rotated;
  if (job.urgency == Urgency::kOrdinary && published.bytes > 0 && result.not_reserved.empty()) {
    result.not_reserved = store.keep_space(published.bytes);
  }
}

// Empty for a record that was written.
std::optional<SaveResult> perform(CheckpointStore& store, const Job& job, const base::Clock& clock) {
  SaveResult result;
  const auto begin = clock.now();
  try {
    if (!job.image) {
      result.kind = SaveResult::Kind::kNote;
      job.decision ? store.record(*job.decision) : store.record(job.record);
      return std::nullopt;
    }
    save(store, job, result);
  } catch (const base::IoError& error) {
    result.problem = error.what();
    result.out_of_space = error.out_of_space();
  } catch (const std::exception& error) {
    result.problem = error.what();
  }
  result.save_ms = std::chrono::duration<double, std::milli>(clock.now() - begin).count();
  return result;
}

// What is kept for a last save is of no use after it; a file that cannot be removed is found by the next process.
void give_up_space(CheckpointStore& store) {
  try {
    store.give_up_space();
  } catch (const base::IoError&) {  // NOLINT(bugprone-empty-catch)
  }
}

// PyTorch's of this thread, with the first operator that it runs. Where memory is short later, glibc would end the
// process instead.
void make_thread_locals() {
  try {
    static_cast<void>(torch::zeros({}).isfinite().all().item<bool>());
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // The first save fails, and says why.
  }
}

}  // namespace

// Shared by the writer and its thread; the last owner releases it.
struct CheckpointWriter::State {
  State(CheckpointStore its_store, base::Clock its_clock)
      : store(std::move(its_store)), clock(std::move(its_clock)), published(store.entries()) {}

  CheckpointStore store;  // the thread's
  const base::Clock clock;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> queue;
  std::vector<SaveResult> results;
  std::vector<CheckpointEntry> published;  // the store's list
  bool busy = false, stopping = false, ended = false;
  bool saving = false;  // busy with an image

  void work() {
    make_thread_locals();
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return stopping || !queue.empty(); });
      if (queue.empty()) break;
      const Job job = std::move(queue.front());
      queue.pop_front();
      busy = true;
      saving = job.image.has_value();
      lock.unlock();
      auto result = perform(store, job, clock);
      lock.lock();
      if (result) results.push_back(std::move(*result));
      try {
        published = store.entries();
      } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
        // The list is that of the save before, until the next one.
      }
      busy = saving = false;
      changed.notify_all();
    }
    lock.unlock();
    give_up_space(store);
    lock.lock();
    ended = true;
    changed.notify_all();
  }
  bool has_image() const {
    return std::ranges::any_of(queue, [](const Job& job) { return job.image.has_value(); });
  }
};

CheckpointWriter::CheckpointWriter(CheckpointStore store, base::Clock clock, Duration deadline)
    : state_(std::make_shared<State>(std::move(store), clock)),
      clock_(std::move(clock)),
      deadline_(deadline),
      thread_([state = state_] { state->work(); }) {}

CheckpointWriter::~CheckpointWriter() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  // The machine's clock, since nothing advances another one here.
  const bool ended = state_->changed.wait_for(lock, gave_up_ ? Duration(0) : deadline_, [&] { return state_->ended; });
  if (!ended) state_->queue.clear();
  lock.unlock();
  ended ? thread_.join() : thread_.detach();
}

CheckpointWriter::Handover CheckpointWriter::submit(CheckpointImage image, Rank rank, Urgency urgency) {
  std::unique_lock lock(state_->mutex);
  const auto free = [&] { return !state_->saving && !state_->has_image(); };
  const Duration end = clock_.now() + deadline_;
  while (!clock_.wait_until(state_->changed, lock, std::min(end, clock_.now() + kGlance), free)) {
    const bool ends_run = urgency == Urgency::kOrdinary && base::Interrupt::requested() != 0;
    if (ends_run || clock_.now() >= end) return Handover::kBusy;
  }
  state_->queue.push_back({std::move(image), rank, {}, {}, urgency});
  state_->changed.notify_all();
  return Handover::kTaken;
}

void CheckpointWriter::record(std::string json_text) {
  const std::lock_guard lock(state_->mutex);
  state_->queue.push_back({std::nullopt, Rank::kOrdinary, std::move(json_text)});
  state_->changed.notify_all();
}

void CheckpointWriter::record(leyline::DecisionLine decision) {
  const std::lock_guard lock(state_->mutex);
  state_->queue.push_back({std::nullopt, Rank::kOrdinary, {}, std::move(decision)});
  state_->changed.notify_all();
}

bool CheckpointWriter::flush() {
  std::unique_lock lock(state_->mutex);
  const auto idle = [&] { return !state_->busy && state_->queue.empty(); };
  gave_up_ = !clock_.wait_until(state_->changed, lock, clock_.now() + deadline_, idle);
  return !gave_up_;
}

std::vector<SaveResult> CheckpointWriter::take_results() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->results, {});
}

std::vector<CheckpointEntry> CheckpointWriter::checkpoints() const {
  const std::lock_guard lock(state_->mutex);
  return state_->published;
}

}  // namespace esper::tolaria
