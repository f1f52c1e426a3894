#pragma once
// Batches of a data set, epoch after epoch: prepared in advance by worker threads, or selected from a data set that is
// on the device. Both hand out the same bits.

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "data/loading/resident_loader.h"
#include "data/loading/threaded_loader.h"

namespace esper::data {

// The data set must outlive the loader. One thread calls it. A batch is a function of (data set, configuration, epoch,
// index) alone: number of workers, prefetch, source and earlier batches change no bit. The last, shorter batch of an
// epoch is kept. A batch belongs to the caller: its memory is reused once no tensor of it is referenced.
class Loader {
 public:
  // Throws Error{kConfig} if crop or flip is asked for and the samples are no images, Error{kResources} where a thread
  // does not start.
  Loader(const Dataset& dataset, const Standardization& standardization, const LoaderConfig& config);

  std::int64_t num_batches() const { return num_batches_; }  // of one epoch
  Source source() const {
    return std::holds_alternative<ResidentLoader>(source_) ? Source::kResident : Source::kThreads;
  }
  // Of each target where its batches have standardised targets; else empty.
  const std::vector<float>& target_deviation() const { return target_deviation_; }

  // The next batch will be (epoch, batch); batch == num_batches() is the epoch's end. O(1).
  void seek(std::int64_t epoch, std::int64_t batch);

  // Where next() goes on: seek() to it changes nothing. batch == num_batches(): the epoch's end is reported next.
  BatchPlace place() const;

  // The next batch; nothing at the end of an epoch, once, and then the next epoch begins. Nothing, and place() stays,
  // where a signal asks for a stop (base::Interrupt) while the batch is waited for, once it was after_signal ago.
  // Rethrows what went wrong while the batch was prepared, and again at each call until a seek. Throws Error{kData}
  // when the deadline passes; the batch can still be asked for. A resident batch on a GPU is queued on the current
  // stream.
  std::optional<Batch> next(std::chrono::nanoseconds after_signal = {});

  // Why what is copied to a GPU lies in pageable memory, though page-locked memory was asked for; empty: it does not.
  std::string pinned_refusal() const;

 private:
  std::variant<ThreadedLoader, ResidentLoader> source_;
  std::int64_t num_batches_;
  std::vector<float> target_deviation_;
};

}  // namespace esper::data
