#pragma once
// Writes checkpoints on a thread of its own: the training thread only copies tensors and hands them over.

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "leyline/clock.h"
#include "tolaria/checkpoint_store.h"

namespace esper::tolaria {

// How one save went, for the training thread to tell.
struct SaveResult {
  CheckpointInfo info;
  std::string path;  // empty: not saved
  std::uint64_t bytes = 0;
  double save_ms = 0;         // on the writer's thread
  std::string problem;        // why not saved
  bool out_of_space = false;  // the disk is full: saving pauses, training goes on
};

class CheckpointWriter {
 public:
  // The store belongs to the writer's thread from now on.
  CheckpointWriter(CheckpointStore& store, leyline::Clock clock, leyline::Duration deadline);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  enum class Handover { kTaken, kBusy };
  // Hands an image over, waiting for an earlier one to be written, at most until the deadline (kBusy: not taken).
  Handover submit(CheckpointImage image, CheckpointStore::Rank rank);
  // Appends a note to the run's journal, in order with the saves. Dropped and counted as a failed save if the disk is
  // full.
  void record(std::string json_text);
  // Waits until all is written; false if the deadline passed.
  bool flush();
  // Results since the last call, oldest first.
  std::vector<SaveResult> take_results();
  // The store's list, and its best; only right after flush() returned true.
  const CheckpointStore& store() const { return store_; }

 private:
  struct Job {
    std::optional<CheckpointImage> image;  // else a note
    CheckpointStore::Rank rank = CheckpointStore::Rank::kOrdinary;
    std::string note;
  };
  void work();
  std::optional<SaveResult> perform(const Job& job);

  CheckpointStore& store_;
  leyline::Clock clock_;
  leyline::Duration deadline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job> queue_;
  std::vector<SaveResult> results_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace esper::tolaria
