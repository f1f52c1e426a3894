#pragma once
// One thing that the writer's thread (checkpoint_writer.h) puts on the disk, what came of it, and how it is done. That
// thread.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "tolaria/checkpoint/checkpoint_store.h"

namespace esper::tolaria {

struct ImageToSave {
  // The last one of a process may take the space that is kept for it.
  enum class Urgency { kOrdinary, kLast };
  CheckpointImage image;
  CheckpointStore::Rank rank = CheckpointStore::Rank::kOrdinary;
  Urgency urgency = Urgency::kOrdinary;
};
struct SpaceToKeep {
  std::uint64_t bytes = 0;
};
// The text is a record of the journal, the line one of the log of decisions.
using SaveJob = std::variant<ImageToSave, SpaceToKeep, std::string, leyline::DecisionLine>;

bool is_image(const SaveJob& job);
bool is_record(const SaveJob& job);

// For the training thread to report.
struct SaveResult {
  enum class Kind { kCheckpoint, kRecords, kSpace } kind = Kind::kCheckpoint;  // the others: only if they failed
  CheckpointInfo info;                                                         // kCheckpoint
  CheckpointStore::Rank rank = CheckpointStore::Rank::kOrdinary;               // kCheckpoint
  std::string destination;                                                     // kCheckpoint: its path, saved or not
  std::string path;                                                            // empty: not saved
  std::uint64_t bytes = 0;                  // 0 with a path: it was on the disk already
  double save_ms = 0;                       // on the writer's thread
  std::string problem;                      // why not saved; of records: why the first was lost
  std::int64_t lost_records = 0;            // kRecords
  bool not_finite = false;                  // the state holds a number that is NaN or infinite: the run has diverged
  bool out_of_space = false;                // the disk is full: saving pauses, training continues
  std::optional<std::uint64_t> free_bytes;  // out_of_space: beside what is kept; empty where the disk cannot say
  std::optional<UndeletedCheckpoint> not_deleted;  // saved, but a superseded one was not deleted
  std::string not_rotated;                         // saved, but the journal began no new file, and why
  std::string not_reserved;                        // no space could be kept for the last save, and why
  std::uint64_t released = 0;                      // bytes of the space that was kept, given up for this one
};

// Empty: there is nothing to report.
std::optional<SaveResult> carry_out(CheckpointStore& store, const SaveJob& job, const base::Clock& clock);

// The bytes that are free on the store's disk for this process, and those that are kept; empty where it cannot say.
std::optional<std::uint64_t> room_of(CheckpointStore& store);

}  // namespace esper::tolaria
