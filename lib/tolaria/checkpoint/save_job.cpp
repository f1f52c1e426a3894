#include "tolaria/checkpoint/save_job.h"

#include <chrono>
#include <exception>

namespace esper::tolaria {
namespace {

using Urgency = ImageToSave::Urgency;

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

void perform(CheckpointStore& store, const ImageToSave& job, SaveResult& result) {
  result.info = job.image.info;
  result.rank = job.rank;
  result.destination = store.entry_of(result.info).path;
  if (const auto bad = first_not_finite(job.image); !bad.empty()) {
    result.not_finite = true;
    result.problem = bad + " is not finite; such a state is not saved";
    return;
  }
  // The network may have grown since. Where nothing is kept yet, a first checkpoint is worth more.
  if (job.urgency == Urgency::kOrdinary && store.kept_space() > 0) {
    result.not_reserved = store.keep_space(kasmina::bytes_of(job.image.tensors));
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

}  // namespace

bool is_image(const SaveJob& job) { return std::holds_alternative<ImageToSave>(job); }

bool is_record(const SaveJob& job) { return !is_image(job) && !std::holds_alternative<SpaceToKeep>(job); }

std::optional<SaveResult> carry_out(CheckpointStore& store, const SaveJob& job, const base::Clock& clock) {
  SaveResult result;
  const auto begin = clock.now();
  try {
    std::visit([&](const auto& one) { perform(store, one, result); }, job);
    if (!is_image(job) && result.not_reserved.empty()) return std::nullopt;
  } catch (const base::IoError& error) {
    result.problem = error.what();
    result.out_of_space = error.out_of_space();
    const auto room = result.out_of_space ? room_of(store) : std::nullopt;
    if (room) result.free_bytes = *room - store.kept_space();
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

}  // namespace esper::tolaria
