#pragma once
// Writes checkpoints on its own thread: the training thread only copies tensors and hands them over.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "tolaria/checkpoint/checkpoint_store.h"

namespace esper::tolaria {

// The result of one save, for the training thread to report.
struct SaveResult {
  enum class Kind { kCheckpoint, kNote } kind = Kind::kCheckpoint;  // a record has a result only if it failed
  CheckpointInfo info;                                              // kCheckpoint
  std::string path;                                                 // empty: not saved
  std::uint64_t bytes = 0;                                          // 0 with a path: it was on the disk already
  double save_ms = 0;                                               // on the writer's thread
  std::string problem;                                              // why not saved
  bool not_finite = false;     // the state holds a number that is NaN or infinite: the run has diverged
  bool out_of_space = false;   // the disk is full: saving pauses, training continues
  std::string not_deleted;     // saved, but a superseded one was not deleted, and why
  std::string not_rotated;     // saved, but the journal began no new file, and why
  std::string not_reserved;    // saved, but no space could be kept for the next one, and why
  std::uint64_t released = 0;  // bytes of the space that was kept, given up for this one
};

class CheckpointWriter {
 public:
  // The store belongs to the writer's thread from now on. deadline: applies to submit, flush and the destructor.
  CheckpointWriter(CheckpointStore store, base::Clock clock, base::Duration deadline);
  // Writes what is pending, at most until the deadline, or nothing if flush() has already met the deadline. Then the
  // thread is detached: it shares only the file system with its owner, and ends when its I/O returns.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  enum class Handover { kTaken, kBusy };
  // The last one of a process may take the space that is kept for it.
  enum class Urgency { kOrdinary, kLast };
  // Hands over an image, waiting for an earlier one to be written, at most until the deadline (kBusy: not accepted),
  // and an ordinary one until a signal asks the run to stop.
  Handover submit(CheckpointImage image, CheckpointStore::Rank rank, Urgency urgency = Urgency::kOrdinary);
  // Appends a record to the run's journal, in order with the saves. A record that cannot be written is lost, with a
  // result.
  void record(std::string json_text);
  // The same for the run's log of decisions.
  void record(leyline::DecisionLine decision);
  // Waits until everything is written; false if the deadline passed.
  bool flush();
  // Results since the last call, oldest first.
  std::vector<SaveResult> take_results();
  // Published checkpoints, oldest first, as of the last completed save.
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
