#pragma once
// Writes checkpoints on its own thread: the training thread only copies tensors and hands them over.

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "tolaria/checkpoint/save_job.h"

namespace esper::tolaria {

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
  using Urgency = ImageToSave::Urgency;
  // An ordinary image for which the disk has no space is tried again each second, until it is written, with a second
  // result, or something else is handed over.
  //
  // Hands over an image, waiting for an earlier one to be written, at most until the deadline (kBusy: not accepted),
  // and an ordinary one until a signal asks the run to stop.
  Handover submit(CheckpointImage image, CheckpointStore::Rank rank, Urgency urgency = Urgency::kOrdinary);
  // Keeps space on the disk for a last save of so many bytes, once what was handed over before is written.
  void keep_space(std::uint64_t bytes);
  // Appends a record to the run's journal, in order with the saves. A record that cannot be written is lost, with a
  // result; so is one that comes while kMostRecords wait for a disk that hangs.
  void record(std::string json_text);
  // The same for the run's log of decisions.
  void record(leyline::DecisionLine decision);
  // Waits until everything is written; false if the deadline passed.
  bool flush();
  // Results since the last call, oldest first.
  std::vector<SaveResult> take_results();
  // Published checkpoints, oldest first, as of the last completed save.
  std::vector<CheckpointEntry> checkpoints() const;
  // The bytes that are free on the disk for this process, and those that are kept, as of the last completed save or
  // keep_space(); empty before, and where the disk could not be asked.
  std::optional<std::uint64_t> disk_room() const;

  static constexpr std::size_t kMostRecords = 4096;

 private:
  struct State;
  template <class Record>
  void enqueue(Record record);
  std::shared_ptr<State> state_;
  base::Clock clock_;
  base::Duration deadline_;
  bool gave_up_ = false;  // a flush has met the deadline
  std::thread thread_;
};

}  // namespace esper::tolaria
