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
using Urgency = ImageToSave::Urgency;

constexpr Duration kGlance = std::chrono::milliseconds(20);  // how often a wait looks for a signal
constexpr Duration kTryAgain = std::chrono::seconds(1);      // how often a full disk is tried

bool is_ordinary(const SaveJob& job) {
  const auto* image = std::get_if<ImageToSave>(&job);
  return image != nullptr && image->urgency == Urgency::kOrdinary;
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
      : store(std::move(its_store)), clock(std::move(its_clock)), report{{}, store.entries(), std::nullopt} {}

  // What the training thread asks for.
  struct Report {
    std::vector<SaveResult> results;
    std::vector<CheckpointEntry> checkpoints;
    std::optional<std::uint64_t> room;
  };
  enum class Activity { kIdle, kSaving, kOther };
  // kLeftBehind: the writer has gone without the thread.
  enum class Life { kWorking, kStopping, kLeftBehind, kEnded };

  CheckpointStore store;  // the thread's
  const base::Clock clock;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<SaveJob> queue;
  std::optional<ImageToSave> not_fitting;  // the newest image, where the disk was full; nothing came after it
  Report report;
  Activity activity = Activity::kIdle;
  Life life = Life::kWorking;

  void work() {
    make_thread_locals();
    std::unique_lock lock(mutex);
    while (await_job(lock)) {
      if (!queue.empty()) {
        not_fitting.reset();  // what comes after it in the journal is here
        const SaveJob job = std::move(queue.front());
        queue.pop_front();
        auto result = carry_out_unlocked(lock, job);
        if (result && result->out_of_space && is_ordinary(job)) not_fitting = std::get<ImageToSave>(job);
        if (result) add(std::move(*result));
      } else if (has_space_again(lock)) {
        auto result = carry_out_unlocked(lock, *not_fitting);
        if (result && result->out_of_space) continue;  // that was reported
        not_fitting.reset();
        if (result) add(std::move(*result));
      }
    }
    const bool owns_space = life != Life::kLeftBehind;  // else the next writer of this run may keep it
    lock.unlock();
    if (owns_space) give_up_space(store);
    lock.lock();
    life = Life::kEnded;
    changed.notify_all();
  }

  // True: there is one, or the image that did not fit is to be tried again. False: the writer goes. The caller holds
  // the mutex, as for the others below.
  bool await_job(std::unique_lock<std::mutex>& lock) {
    const auto is_wanted = [&] { return life != Life::kWorking || !queue.empty(); };
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
    const auto room = room_of(store);
    lock.lock();
    return !room || *room >= kasmina::bytes_of(not_fitting->image.tensors) + store.kept_space();
  }

  std::optional<SaveResult> carry_out_unlocked(std::unique_lock<std::mutex>& lock, const SaveJob& job) {
    activity = is_image(job) ? Activity::kSaving : Activity::kOther;
    lock.unlock();
    auto result = carry_out(store, job, clock);
    const auto room = is_record(job) ? std::nullopt : room_of(store);
    lock.lock();
    if (!is_record(job)) report.room = room;
    try {
      report.checkpoints = store.entries();
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
      // The list is that of the save before, until the next one.
    }
    activity = Activity::kIdle;
    changed.notify_all();
    return result;
  }

  bool takes_image() const { return activity != Activity::kSaving && std::ranges::none_of(queue, is_image); }
  // Lost records in a row are one result.
  void add(SaveResult result) {
    auto& results = report.results;
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
  state_->life = State::Life::kStopping;
  state_->changed.notify_all();
  // The machine's clock, since nothing advances another one here.
  const auto has_ended = [&] { return state_->life == State::Life::kEnded; };
  const bool ended = state_->changed.wait_for(lock, gave_up_ ? Duration(0) : deadline_, has_ended);
  if (!ended) {
    state_->queue.clear();
    state_->life = State::Life::kLeftBehind;
  }
  lock.unlock();
  ended ? thread_.join() : thread_.detach();
}

CheckpointWriter::Handover CheckpointWriter::submit(CheckpointImage image, Rank rank, Urgency urgency) {
  std::unique_lock lock(state_->mutex);
  const auto free = [&] { return state_->takes_image(); };
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
  const auto idle = [&] { return state_->activity == State::Activity::kIdle && state_->queue.empty(); };
  gave_up_ = !clock_.wait_until(state_->changed, lock, clock_.now() + deadline_, idle);
  return !gave_up_;
}

std::vector<SaveResult> CheckpointWriter::take_results() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->report.results, {});
}

std::vector<CheckpointEntry> CheckpointWriter::checkpoints() const {
  const std::lock_guard lock(state_->mutex);
  return state_->report.checkpoints;
}

std::optional<std::uint64_t> CheckpointWriter::disk_room() const {
  const std::lock_guard lock(state_->mutex);
  return state_->report.room;
}

}  // namespace esper::tolaria
