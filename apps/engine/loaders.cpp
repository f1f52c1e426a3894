#include "engine/loaders.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/exit_deadline.h"
#include "data/loading/source_choice.h"
#include "device/facts.h"
#include "device/out_of_memory.h"
#include "device/precision.h"
#include "engine/end_in_time.h"
#include "tolaria/run/source_timer.h"

namespace esper::engine {
namespace {

using data::Order;
using data::Source;

// Whether the run is to choose between a data set on the GPU and copies to it.
bool has_choice(const TrainingSetup& setup) {
  return setup.config.data.gpu_dataset == config::Resident::kAuto && setup.device.is_cuda() &&
         !setup.data.train.process;
}

data::SourceFacts facts_of(const TrainingSetup& setup) {
  const auto& config = setup.config;
  data::SourceFacts facts;
  if (setup.data.train.inputs.defined()) {
    facts.resident_bytes += data::resident_bytes(setup.data.train, config.data.augment) +
                            data::resident_bytes(setup.data.validation, config::AugmentConfig{});
    facts.batches = batches_per_epoch(setup) * config.epochs;
  }
  if (setup.data.test) facts.resident_bytes += data::resident_bytes(*setup.data.test, config::AugmentConfig{});
  facts.free_bytes = static_cast<std::int64_t>(device::memory_figures(setup.device).free_bytes);
  return facts;
}

// Without a measurement.
Source source_of(const TrainingSetup& setup) {
  if (has_choice(setup)) return data::fits(facts_of(setup)) ? Source::kResident : Source::kThreads;
  return setup.config.data.gpu_dataset == config::Resident::kOn ? Source::kResident : Source::kThreads;
}

LoaderPointer make_loader(const data::Dataset& dataset, const TrainingSetup& setup, Source source, Order order) {
  const auto& config = setup.config;
  const bool training = order == Order::kShuffled;
  data::LoaderConfig loader;
  loader.batch_size = config.data.batch_size;
  loader.workers = config.data.workers;
  loader.prefetch = config.data.prefetch;
  loader.seed = config.seed;
  loader.order = order;
  if (training) {
    loader.augment = config.data.augment;
    loader.epoch_samples = config.data.epoch_samples;
  }
  loader.deadline = config.safety.data_deadline;
  const bool pinned = setup.device.is_cuda() && config.data.pin_memory;
  loader.staging = pinned ? data::Staging::kPinned : data::Staging::kPageable;
  loader.worker_life = config.data.persistent_workers ? data::WorkerLife::kLoader : data::WorkerLife::kEpoch;
  loader.source = source;
  loader.device = setup.device;
  try {
    auto made = std::make_unique<data::Loader>(dataset, setup.data.standardization, loader);
    return {made.release(), EndLoader{longest_join(config)}};
  } catch (const c10::OutOfMemoryError&) {
    throw base::Error(
        base::ExitCode::kResources,
        fmt::format("data.gpu_dataset: the data set does not fit on {}; turn it off, or lower data.max_samples",
                    setup.device.str()));
  }
}

// Nothing where a signal asks for a stop, or the forward has no memory: then the run reports it in a better place.
std::optional<data::SourceTimes> times_of(const TrainingSetup& setup, data::Loader& resident, data::Loader& copied,
                                          data::Beside beside) {
  base::Ledger ledger;
  const auto forward = [&](const torch::Tensor& inputs) {
    const c10::InferenceMode inference;
    const device::AutocastScope autocast(setup.device.type(), setup.settings.compute_type);
    setup.model->network.forward(inputs, kasmina::Mode::kEvaluate);
  };
  const auto timer_of = [&](data::Loader& loader, int prepared) {
    return tolaria::SourceTimer(loader, setup.device, setup.config.data, ledger, forward, prepared);
  };
  tolaria::SourceTimer of_resident = timer_of(resident, 0), of_copied = timer_of(copied, setup.config.data.prefetch);
  try {
    return data::time_sources([&] { return of_resident.round(beside); }, [&] { return of_copied.round(beside); },
                              base::Clock());
  } catch (const std::exception& error) {
    if (device::out_of_memory_message(error).empty()) throw;
    return std::nullopt;
  }
}

struct ChosenLoader {
  LoaderPointer train;
  std::string reason;
};

ChosenLoader measured_loader(const TrainingSetup& setup) {
  LoaderPointer resident, copied;
  const auto open = [&](Source source) { return make_loader(setup.data.train, setup, source, Order::kShuffled); };
  const auto measure = [&](data::Beside beside) {
    if (!resident) resident = open(Source::kResident);
    if (!copied) copied = open(Source::kThreads);
    return times_of(setup, *resident, *copied, beside);
  };
  auto [source, reason] = data::choose_source(facts_of(setup), measure);
  LoaderPointer& chosen = source == Source::kResident ? resident : copied;
  if (!chosen) return {open(source), std::move(reason)};
  chosen->seek(0, 0);
  return {std::move(chosen), std::move(reason)};
}

// A GPU that others fill meanwhile ends no run that left the choice open.
ChosenLoader choose_loader(const TrainingSetup& setup) {
  try {
    return measured_loader(setup);
  } catch (const base::Error& error) {
    if (error.code() != base::ExitCode::kResources) throw;
    return {make_loader(setup.data.train, setup, Source::kThreads, Order::kShuffled), error.what()};
  }
}

}  // namespace

void EndLoader::operator()(data::Loader* loader) const {
  const auto lift =
      base::end_within(deadline, static_cast<int>(base::ExitCode::kData),
                       "esper: data: a thread that reads a batch does not end; exiting without it; is a disk gone?\n");
  delete loader;
  lift();
}

LoaderPointer open_loader(const TrainingSetup& setup, const data::Dataset& dataset, Order order) {
  return make_loader(dataset, setup, source_of(setup), order);
}

Loaders open_loaders(const TrainingSetup& setup) {
  auto [train, reason] = has_choice(setup) ? choose_loader(setup)
                                           : ChosenLoader{open_loader(setup, setup.data.train, Order::kShuffled), {}};
  const auto sequential = [&, source = train->source()](const data::Dataset& part) {
    return make_loader(part, setup, source, Order::kSequential);
  };
  return {std::move(train), sequential(setup.data.validation),
          setup.data.test ? sequential(*setup.data.test) : LoaderPointer(), std::move(reason)};
}

}  // namespace esper::engine
