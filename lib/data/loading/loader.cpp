#include "data/loading/loader.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "base/error.h"
#include "base/fault.h"

namespace esper::data {
namespace {

std::variant<ThreadedLoader, ResidentLoader> source_of(const Dataset& dataset, const Standardization& standardization,
                                                       const LoaderConfig& config) {
  using Sources = std::variant<ThreadedLoader, ResidentLoader>;
  if (config.source == Source::kResident && !dataset.process) {
    return Sources(std::in_place_type<ResidentLoader>, dataset, standardization, config);
  }
  return Sources(std::in_place_type<ThreadedLoader>, dataset, standardization, config);
}

}  // namespace

std::int64_t samples_per_epoch(std::int64_t all, std::int64_t epoch_samples) {
  return epoch_samples > 0 ? std::min(epoch_samples, all) : all;
}

std::int64_t batches_of(std::int64_t samples, std::int64_t batch_size) {
  ESPER_CHECK(samples > 0 && batch_size > 0, "a loader needs samples and a batch size");
  return (samples - 1) / batch_size + 1;
}

Loader::Loader(const Dataset& dataset, const Standardization& standardization, const LoaderConfig& config)
    : source_(source_of(dataset, standardization, config)),
      num_batches_(batches_of(samples_per_epoch(num_samples(dataset), config.epoch_samples), config.batch_size)),
      target_deviation_(standardization.target_deviation) {}

void Loader::seek(std::int64_t epoch, std::int64_t batch) {
  std::visit([&](auto& source) { source.seek(epoch, batch); }, source_);
}

BatchPlace Loader::place() const {
  return std::visit([](const auto& source) { return source.place(); }, source_);
}

std::string Loader::pinned_refusal() const {
  return std::visit([](const auto& source) { return source.pinned_refusal(); }, source_);
}

std::optional<Batch> Loader::next(std::chrono::nanoseconds after_signal) {
  if (base::fault::hit("data.batch")) throw base::Error(base::ExitCode::kData, "fault point data.batch");
  TORCH_CHECK(!base::fault::hit("device.late_error"), "CUDA error: an illegal memory access was encountered");
  if (auto* resident = std::get_if<ResidentLoader>(&source_)) return resident->next();
  return std::get<ThreadedLoader>(source_).next(after_signal);
}

}  // namespace esper::data
