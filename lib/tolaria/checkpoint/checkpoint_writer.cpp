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
#include <variant>

#include "base/interrupt.h"

namespace esper::tolaria {
namespace {

using base::Duration;
using Rank = CheckpointStore::Rank;
using Urgency = CheckpointWriter::Urgency;

constexpr Duration kGlance = std::chrono::milliseconds(20);  // how often a wait looks for a signal
constexpr Duration kTryAgain = std::chrono::seconds(1);      // how often a full disk is tried

struct ImageToSave {
  CheckpointImage image;
  Rank rank = Rank::kOrdinary;
  Urgency urgency = Urgency::kOrdinary;
};
struct SpaceToKeep {
  std::uint64_t bytes = 0;
};
// The text is a record of the journal, the line one of the log of decisions.
using Job = std::variant<ImageToSave, SpaceToKeep, std::string, leyline::DecisionLine>;

bool is_image(const Job& job) { return std::holds_alternative<ImageToSave>(job); }
bool is_ordinary(const Job& job) {
  const auto* image = std::get_if<ImageToSave>(&job);
  return image != nullptr && image->urgency == Urgency::kOrdinary;
}
bool is_record(const Job& job) { return !is_image(job) && !std::holds_alternative<SpaceToKeep>(job); }

// Where the disk is full, the space that was kept goes to the last save, and to a run's first.
CheckpointStore::Published publish(CheckpointStore& store, const ImageToSave& job, SaveResult& result) {
  const bool may_take_kept = job.urgency == Urgency::kLast || store.entries().empty();
  try {
    return store.publish(job.image, job.rank);
  } catch (const base::IoError& error) {
    if (!may_take_kept || !error.out_of_space()) throw;
    result.released = store.give_up_space();
    if (result.released == 0) throw;
  }
  return store.publish(job.image, job.rank);
}

// Of its tensors, which are nearly all of it.
std::uint64_t bytes_of(const CheckpointImage& image) {
  std::uint64_t bytes = 0;
  for (const auto& [id, tensor] : image.tensors) bytes += tensor.nbytes();
  return bytes;
}

void perform(CheckpointStore& store, const ImageToSave& job, SaveResult& result) {
  result.info = job.image.info;
  if (const auto bad = first_not_finite(job.image); !bad.empty()) {
    result.not_finite = true;
    result.problem = bad + " is not finite; such a state is not saved";
    return;
  }
  // The network may have grown since. Where nothing is kept yet, a first checkpoint is worth more.
  if (job.urgency == Urgency::kOrdinary && store.kept_space() > 0) {
    result.not_reserved = store.keep_space(bytes_of(job.image));
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

void perform(CheckpointStore& store, const SpaceToKeep& space, SaveResult& result) {
  result.kind = SaveResult::Kind::kSpace;
  result.not_reserved = store.keep_space(space.bytes);
}

template <class Record>
void perform(CheckpointStore& store, const Record& record, SaveResult& result) {
  result.kind = SaveResult::Kind::kRecords;
  store.record(record);
}

// Empty: there is nothing to report.
std::optional<SaveResult> perform(CheckpointStore& store, const Job& job, const base::Clock& clock) {
  SaveResult result;
  const auto begin = clock.now();
  try {
    std::visit([&](const auto& one) { perform(store, one, result); }, job);
    if (!is_image(job) && result.not_reserved.empty()) return std::nullopt;
  } catch (const base::IoError& error) {
    result.problem = error.what();
    result.out_of_space = error.out_of_space();
  } catch (const std::exception& error) {
    result.problem = error.what();
  }
  if (is_record(job)) result.lost_records = 1;
  result.save_ms = std::chrono::duration<double, std::milli>(clock.now() - begin).count();
  return result;
}

std::optional<std::uint64_t> room_of(CheckpointStore& store) {
  try {
    return store.free_space() + store.kept_space();
  } catch (const base::IoError&) {
    return std::nullopt;
  }
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
  std::optional<std::uint64_t> room;
  bool busy = false, stopping = false, ended = false;
  bool saving = false;                     // busy with an image
  bool is_left_behind = false;             // the writer has gone without it
  std::optional<ImageToSave> not_fitting;  // the newest one, where the disk was full; nothing came after it

  void work() {
    make_thread_locals();
    std::unique_lock lock(mutex);
    while (await_job(lock)) {
      if (!queue.empty()) {
        not_fitting.reset();  // what comes after it in the journal is here
        const Job job = std::move(queue.front());
        queue.pop_front();
        auto result = carry_out(lock, job);
        if (result && result->out_of_space && is_ordinary(job)) not_fitting = std::get<ImageToSave>(job);
        if (result) add(std::move(*result));
      } else if (has_space_again(lock)) {
        auto result = carry_out(lock, *not_fitting);
        if (result && result->out_of_space) continue;  // that was reported
        not_fitting.reset();
        if (result) add(std::move(*result));
      }
    }
    const bool owns_space = !is_left_behind;  // else the next writer of this run may keep it
    lock.unlock();
    if (owns_space) give_up_space(store);
    lock.lock();
    ended = true;
    changed.notify_all();
  }

  // True: there is one, or the image that did not fit is to be tried again. False: the writer goes. The caller holds
  // the mutex, as for the others below.
  bool await_job(std::unique_lock<std::mutex>& lock) {
    const auto is_wanted = [&] { return stopping || !queue.empty(); };
    if (!not_fitting) {
      changed.wait(lock, is_wanted);
    } else if (!changed.wait_for(lock, kTryAgain, is_wanted)) {
      return true;
    }
    return !queue.empty();
  }

  // Beside what is kept for the last save. A disk that is nearly full is not filled with attempts. A quota does not
  // show in its free space.
  bool has_space_again(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const auto free = room_of(store);
    lock.lock();
    return !free || *free >= bytes_of(not_fitting->image) + store.kept_space();
  }

  std::optional<SaveResult> carry_out(std::unique_lock<std::mutex>& lock, const Job& job) {
    busy = true;
    saving = is_image(job);
    lock.unlock();
    auto result = perform(store, job, clock);
    const auto new_room = is_record(job) ? std::nullopt : room_of(store);
    lock.lock();
    if (!is_record(job)) room = new_room;
    try {
      published = store.entries();
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
      // The list is that of the save before, until the next one.
    }
    busy = saving = false;
    changed.notify_all();
    return result;
  }

  bool has_image() const { return std::ranges::any_of(queue, is_image); }
  // Lost records in a row are one result.
  void add(SaveResult result) {
    const bool are_more =
        result.lost_records > 0 && !results.empty() && results.back().kind == SaveResult::Kind::kRecords;
    if (are_more) {
      results.back().lost_records += result.lost_records;
    } else {
      results.push_back(std::move(result));
    }
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
  if (!ended) {
    state_->queue.clear();
    state_->is_left_behind = true;
  }
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
  state_->queue.emplace_back(ImageToSave{std::move(image), rank, urgency});
  state_->changed.notify_all();
  return Handover::kTaken;
}

void CheckpointWriter::keep_space(std::uint64_t bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->queue.emplace_back(SpaceToKeep{bytes});
  state_->changed.notify_all();
}

template <class Record>
void CheckpointWriter::enqueue(Record record) {
  const std::lock_guard lock(state_->mutex);
  if (state_->queue.size() >= kMostRecords) {
    SaveResult lost;
    lost.kind = SaveResult::Kind::kRecords;
    lost.problem = "the disk does not answer, and too many records wait for it";
    lost.lost_records = 1;
    return state_->add(std::move(lost));
  }
  state_->queue.emplace_back(std::move(record));
  state_->changed.notify_all();
}

void CheckpointWriter::record(std::string json_text) { enqueue(std::move(json_text)); }

void CheckpointWriter::record(leyline::DecisionLine decision) { enqueue(std::move(decision)); }

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

std::optional<std::uint64_t> CheckpointWriter::disk_room() const {
  const std::lock_guard lock(state_->mutex);
  return state_->room;
}

}  // namespace esper::tolaria
