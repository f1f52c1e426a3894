#pragma once
// Writes checkpoints on a thread of its own: the training thread only copies tensors and hands them over.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "tolaria/checkpoint/checkpoint_store.h"

namespace esper::tolaria {

// How one save went, for the training thread to report.
struct SaveResult {
  enum class Kind { kCheckpoint, kNote } kind = Kind::kCheckpoint;  // of a note only failures are results
  CheckpointInfo info;                                              // kCheckpoint
  std::string path;                                                 // empty: not saved
  std::uint64_t bytes = 0;                                          // 0 with a path: it was on the disk already
  double save_ms = 0;                                               // on the writer's thread
  std::string problem;                                              // why not saved
  bool out_of_space = false;                                        // the disk is full: saving pauses, training goes on
  std::string not_deleted;                                          // saved, but why a superseded one is still there
  std::string not_rotated;                                          // saved, but why the journal began no new file
};

class CheckpointWriter {
 public:
  // The store belongs to the writer's thread from now on. deadline: of submit, flush and the destructor.
  CheckpointWriter(CheckpointStore store, base::Clock clock, base::Duration deadline);
  // Writes what waits, at most until the deadline, or not at all where flush() has met it already. Then the thread is
  // left to itself: it shares nothing with the owner but the file system, and ends when that returns.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  enum class Handover { kTaken, kBusy };
  // Hands an image over, waiting for an earlier one to be written, at most until the deadline (kBusy: not taken).
  Handover submit(CheckpointImage image, CheckpointStore::Rank rank);
  // Appends a note to the run's journal, in order with the saves. One that cannot be written is lost, with a result.
  void record(std::string json_text);
  // Waits until all is written; false if the deadline passed.
  bool flush();
  // Results since the last call, oldest first.
  std::vector<SaveResult> take_results();
  // What is published, oldest first, as of the last save that ended.
  std::vector<CheckpointEntry> checkpoints() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  base::Clock clock_;
  base::Duration deadline_;
  bool gave_up_ = false;  // a flush has met the deadline
  std::thread thread_;
};

}  // namespace esper::tolaria
