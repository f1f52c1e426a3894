#include "engine/loaders.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/exit_deadline.h"
#include "data/loading/source_choice.h"
#include "device/facts.h"
#include "device/out_of_memory.h"
#include "device/precision.h"
#include "tolaria/run/source_timer.h"

namespace esper::engine {
namespace {

using data::Order;
using data::Source;

constexpr base::Duration kBeyondCommand = std::chrono::seconds(20);

// Whether the run is to choose between a data set on the card and copies to it.
bool has_choice(const Workbench& bench) {
  return bench.config.data.gpu_dataset == config::Resident::kAuto && bench.device.is_cuda() &&
         !bench.data.train.process;
}

data::SourceFacts facts_of(const Workbench& bench) {
  const auto& config = bench.config;
  data::SourceFacts facts;
  if (bench.data.train.inputs.defined()) {
    facts.resident_bytes += data::resident_bytes(bench.data.train, config.data.augment) +
                            data::resident_bytes(bench.data.validation, config::AugmentConfig{});
    facts.batches = batches_per_epoch(bench) * config.epochs;
  }
  if (bench.data.test) facts.resident_bytes += data::resident_bytes(*bench.data.test, config::AugmentConfig{});
  facts.free_bytes = static_cast<std::int64_t>(device::memory_figures(bench.device).free_bytes);
  return facts;
}

// Without a measurement.
Source source_of(const Workbench& bench) {
  if (has_choice(bench)) return data::fits(facts_of(bench)) ? Source::kResident : Source::kThreads;
  return bench.config.data.gpu_dataset == config::Resident::kOn ? Source::kResident : Source::kThreads;
}

LoaderPointer make_loader(const data::Dataset& dataset, const Workbench& bench, Source source, Order order) {
  const auto& config = bench.config;
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
  const bool pinned = bench.device.is_cuda() && config.data.pin_memory;
  loader.staging = pinned ? data::Staging::kPinned : data::Staging::kPageable;
  loader.worker_life = config.data.persistent_workers ? data::WorkerLife::kLoader : data::WorkerLife::kEpoch;
  loader.source = source;
  loader.device = bench.device;
  try {
    auto made = std::make_unique<data::Loader>(dataset, bench.data.standardization, loader);
    return {made.release(), EndLoader{config.safety.save_deadline + kBeyondCommand}};
  } catch (const c10::OutOfMemoryError&) {
    throw base::Error(
        base::ExitCode::kResources,
        fmt::format("data.gpu_dataset: the data set does not fit on {}; turn it off, or lower data.max_samples",
                    bench.device.str()));
  }
}

// Nothing where a signal asks for a stop, or the forward has no memory: then the run will say so in a better place.
std::optional<data::SourceTimes> times_of(const Workbench& bench, data::Loader& resident, data::Loader& copied) {
  base::Ledger ledger;
  const auto forward = [&](const torch::Tensor& inputs) {
    const c10::InferenceMode inference;
    const device::AutocastScope autocast(bench.device.type(), bench.settings.compute_type);
    bench.model->network.forward(inputs, kasmina::Mode::kEvaluate);
  };
  const auto timer_of = [&](data::Loader& loader, int prepared) {
    return tolaria::SourceTimer(loader, bench.device, bench.config.data, ledger, forward, prepared);
  };
  tolaria::SourceTimer of_resident = timer_of(resident, 0), of_copied = timer_of(copied, bench.config.data.prefetch);
  try {
    return data::time_sources([&] { return of_resident.round(); }, [&] { return of_copied.round(); }, base::Clock());
  } catch (const std::exception& error) {
    if (device::out_of_memory_message(error).empty()) throw;
    return std::nullopt;
  }
}

struct ChosenLoader {
  LoaderPointer train;
  std::string reason;
};

ChosenLoader measured_loader(const Workbench& bench) {
  LoaderPointer resident, copied;
  const auto open = [&](Source source) { return make_loader(bench.data.train, bench, source, Order::kShuffled); };
  const auto measure = [&]() -> std::optional<data::SourceTimes> {
    resident = open(Source::kResident);
    copied = open(Source::kThreads);
    return times_of(bench, *resident, *copied);
  };
  auto [source, reason] = data::choose_source(facts_of(bench), measure);
  LoaderPointer& chosen = source == Source::kResident ? resident : copied;
  if (!chosen) return {open(source), std::move(reason)};
  chosen->seek(0, 0);
  return {std::move(chosen), std::move(reason)};
}

// A card that others fill meanwhile ends no run that left the choice open.
ChosenLoader choose_loader(const Workbench& bench) {
  try {
    return measured_loader(bench);
  } catch (const base::Error& error) {
    if (error.code() != base::ExitCode::kResources) throw;
    return {make_loader(bench.data.train, bench, Source::kThreads, Order::kShuffled), error.what()};
  }
}

}  // namespace

void EndLoader::operator()(data::Loader* loader) const {
  const auto lift =
      base::end_within(deadline, static_cast<int>(base::ExitCode::kData),
                       "esper: data: a thread that reads a batch does not end, and is left behind; is a disk gone?\n");
  delete loader;
  lift();
}

LoaderPointer open_loader(const Workbench& bench, const data::Dataset& dataset, Order order) {
  return make_loader(dataset, bench, source_of(bench), order);
}

Loaders open_loaders(const Workbench& bench) {
  auto [train, reason] = has_choice(bench) ? choose_loader(bench)
                                           : ChosenLoader{open_loader(bench, bench.data.train, Order::kShuffled), {}};
  const auto sequential = [&, source = train->source()](const data::Dataset& part) {
    return make_loader(part, bench, source, Order::kSequential);
  };
  return {std::move(train), sequential(bench.data.validation),
          bench.data.test ? sequential(*bench.data.test) : LoaderPointer(), std::move(reason)};
}

}  // namespace esper::engine
