#include "support/run_fixture.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <nlohmann/json.hpp>

#include "device/precision.h"
#include "device/rng.h"
#include "storage/file_tools.h"
#include "storage/journal/journal.h"
#include "support/models/step_fixture.h"

namespace esper::test {

using device::resolve_precision;
using step::all_tensors;
using step::build_model;
using step::Model;
using step::restore_model;
using step::step_settings;
using tolaria::CheckpointImage;
using tolaria::CheckpointStore;
using tolaria::copy_to_cpu;
using tolaria::list_checkpoints;
using tolaria::read_checkpoint;
using tolaria::run_progress_from_json;
using tolaria::RunProgress;

namespace {

std::unique_ptr<data::Loader> loader_of(const data::Dataset& dataset, const data::Splits& splits,
                                        const config::RunConfig& config, data::Order order) {
  data::LoaderConfig loader;
  loader.batch_size = config.data.batch_size;
  loader.workers = 0;
  loader.seed = config.seed;
  loader.order = order;
  return std::make_unique<data::Loader>(dataset, splits.standardization, loader);
}

CheckpointStore store_on(esper::test::FaultyFileSystem& files, const config::RunConfig& config) {
  storage::ensure_folder(files, kCheckpoints);
  return {files, kCheckpoints, kJournal, config.checkpoint};
}

std::unique_ptr<Model> seeded_model(const config::RunConfig& config, const data::Splits& data) {
  at::set_num_threads(1);  // a thread team costs these tiny tensors more than it gives
  device::seed_all(config.seed);
  return build_model(config, data.train.shape,
                     step_settings(config, resolve_precision(config.device.precision, torch::kCPU)), torch::kCPU);
}

torch::Tensor probe_of(data::Loader& loader) {
  loader.seek(0, 0);
  return loader.next()->inputs;
}

}  // namespace

config::RunConfig small_config() {
  config::RunConfig config;
  config.name = "small";
  config.epochs = 3;
  config.step.lane = config::Lane::kReplay;  // eager's bits, and no word of a missing compiler
  config.data.kind = config::DataKind::kSynthetic;
  config.data.synthetic = {.samples = 64, .features = 6, .classes = 3, .noise = 1.5};
  config.data.validation_fraction = 0.25;
  config.data.batch_size = 8;
  config.host.hidden = {12, 10};
  config.training.optimizer.lr = 0.05;
  config.safety.policy_deadline = std::chrono::seconds(160);
  config.safety.save_deadline = std::chrono::seconds(160);
  return config;
}

ScriptedController::Script quiet() {
  return [](const leyline::Observation&) { return leyline::Decision{{}, "nothing to do"}; };
}

SmallRun::SmallRun(const config::RunConfig& config, ScriptedController::Script script)
    : SmallRun(config, std::move(script), nullptr) {}

SmallRun::SmallRun(const config::RunConfig& config, ScriptedController::Script script, const CheckpointImage& from)
    : SmallRun(config, std::move(script), &from) {}

SmallRun::SmallRun(const config::RunConfig& config, ScriptedController::Script script, const CheckpointImage* from)
    : data(data::load_dataset(config.data, data::TestPart::kUnread, config.task)),
      train_data(loader_of(data.train, data, config, data::Order::kShuffled)),
      validation_data(loader_of(data.validation, data, config, data::Order::kSequential)),
      model(seeded_model(config, data)),
      policy(std::make_unique<tamiyo::Consultation>(scripted(std::move(script)), base::Clock(),
                                                    config.safety.policy_deadline)),
      writer(store_on(files, config), base::Clock(), config.safety.save_deadline),
      facts{.config = config,
            .run_id = "small-run",
            .training_hash = "hash",
            .device = torch::kCPU,
            .batches_per_epoch = train_data->num_batches(),
            .started = base::Clock().now()},
      progress(from == nullptr ? RunProgress() : run_progress_from_json(from->run.at("progress"))),
      outbox(facts.run_id, facts.clock, progress, ledger, sink),
      saver({facts, *model, progress, policy}, writer, outbox, ledger, display),
      evaluation{*model, *validation_data, *train_data, facts, ledger},
      run{.facts = facts,
          .progress = progress,
          .model = *model,
          .data = {*train_data, *validation_data, probe_of(*validation_data)},
          .policy = policy,
          .lanes = {},
          .saver = saver,
          .outbox = outbox,
          .ledger = ledger,
          .display = display,
          .at_the_end = tolaria::AtTheEnd::kLeave} {
  interrupt.begin_saving();
  if (from == nullptr) return;
  policy.restore(from->run.at("controller"));
  const auto restored = restore_model(*model, from->run.at("topology"), from->tensors, torch::kCPU);
  if (!restored) throw std::runtime_error(restored.error());
  const auto tensors = tolaria::restore_tensors(progress, from->tensors);
  if (!tensors) throw std::runtime_error(tensors.error());
}

std::vector<leyline::TelemetryEvent> SmallRun::events(const std::string& name) const {
  std::vector<leyline::TelemetryEvent> found;
  const auto take = [&](const std::vector<leyline::TelemetryEvent>& events) {
    for (const auto& event : events) {
      if (event.description == name) found.push_back(event);
    }
  };
  for (const auto& packet : sink.packets()) take(packet.events);
  take(outbox.waiting());
  return found;
}

std::vector<double> SmallRun::values(const std::string& name) const {
  std::vector<double> found;
  for (const auto& packet : sink.packets()) {
    for (const auto& metric : packet.metrics) {
      if (metric.name == name) found.push_back(metric.value);
    }
  }
  return found;
}

std::vector<leyline::TelemetryPacket> SmallRun::packets(const std::string& subsystem) const {
  auto all = sink.packets();
  std::erase_if(all, [&](const auto& packet) { return packet.source_subsystem != subsystem; });
  return all;
}

std::map<std::string, torch::Tensor> SmallRun::bits() const {
  std::map<std::string, torch::Tensor> copies;
  for (const auto& [id, tensor] : copy_to_cpu(all_tensors(*model, torch::kCPU))) copies[id] = tensor;
  return copies;
}

std::vector<std::string> SmallRun::journal() {
  std::vector<std::string> records;
  storage::scan_journal(files, kJournal, [&](std::string_view record) { records.emplace_back(record); });
  return records;
}

CheckpointImage newest_checkpoint(SmallRun& it) {
  const auto saved = list_checkpoints(it.files, kCheckpoints);
  REQUIRE_FALSE(saved.empty());
  return *read_checkpoint(it.files, saved.back().path);
}

std::vector<std::string> differing(const std::map<std::string, torch::Tensor>& a,
                                   const std::map<std::string, torch::Tensor>& b) {
  std::vector<std::string> names;
  for (const auto& [id, tensor] : a) {
    if (!b.contains(id) || !same_bits(tensor, b.at(id))) names.push_back(id);
  }
  for (const auto& [id, tensor] : b) {
    if (!a.contains(id)) names.push_back(id);
  }
  return names;
}

}  // namespace esper::test
