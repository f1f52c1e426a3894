#include "engine/composition.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/names.h"
#include "base/text/text_outlet.h"
#include "config/write.h"
#include "device/precision.h"
#include "engine/no_epochs_left.h"
#include "kasmina/topology.h"
#include "leyline/telemetry.h"
#include "nissa/console_sink.h"
#include "nissa/jsonl_sink.h"
#include "nissa/log.h"
#include "nissa/telemetry_files.h"
#include "tamiyo/heuristic.h"
#include "tamiyo/null_controller.h"
#include "tolaria/checkpoint/growth_check.h"
#include "tolaria/report/report.h"
#include "tolaria/run/saving.h"
#include "tolaria/summary.h"

namespace esper::engine {
namespace {

using config::RunConfig;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

constexpr base::Duration kTelemetryDeadline = std::chrono::seconds(5);

std::unique_ptr<leyline::Controller> make_controller(const RunConfig& config) {
  if (config.policy.kind == config::PolicyKind::kNone || !config.growth.enabled) {
    return std::make_unique<tamiyo::NullController>();
  }
  return std::make_unique<tamiyo::HeuristicController>(config.policy.heuristic, config.growth);
}

// Nothing for a policy that never grows; none for one that nothing is known of.
lanes::GerminationForecast forecast_of(const RunConfig& config) {
  if (config.policy.kind == config::PolicyKind::kNone || !config.growth.enabled) {
    return [](const auto&, const auto&) { return lanes::LikelyChange{}; };
  }
  const auto policy = std::make_shared<tamiyo::HeuristicController>(config.policy.heuristic, config.growth);
  return [policy](const std::vector<leyline::SlotState>& free, const std::string& state) {
    policy->load_state(state);
    const auto next = policy->next_germination(free);
    if (!next) return lanes::LikelyChange{};
    return lanes::LikelyChange{leyline::SeedOperation::kGerminate, next->slot, next->blueprint, {}};
  };
}

// The run's own controllers are a few comparisons; of one that was handed in nothing is known.
std::unique_ptr<tolaria::Consultation> make_consultation(std::unique_ptr<leyline::Controller> controller,
                                                         const RunConfig& config, const base::Clock& clock) {
  const auto pace = controller ? tolaria::Pace::kMayTakeLong : tolaria::Pace::kImmediate;
  if (!controller) controller = make_controller(config);
  return std::make_unique<tolaria::Consultation>(std::move(controller), clock, config.safety.policy_deadline, pace);
}

std::unique_ptr<nissa::Hub> make_hub(const RunConfig& config, const tolaria::RunFolder& folder,
                                     const std::shared_ptr<leyline::Progress>& display, Console console) {
  std::vector<nissa::NamedSink> sinks;
  if (config.telemetry.jsonl) {
    constexpr std::uint64_t kMegabyte = 1 << 20;
    const nissa::TelemetryLimits limits{static_cast<std::uint64_t>(config.telemetry.segment_mb) * kMegabyte,
                                        static_cast<std::uint64_t>(config.telemetry.limit_mb) * kMegabyte};
    sinks.push_back(
        {"jsonl", std::make_unique<nissa::JsonlSink>(folder.telemetry(), nissa::JsonlSink::Target::kRegularFile,
                                                     nissa::JsonlSink::kWriteDeadline, limits)});
  }
  if (console == Console::kAsConfigured && config.telemetry.console != config::ConsoleMode::kNone) {
    const auto style = config.telemetry.console == config::ConsoleMode::kPlain ? nissa::ConsoleStyle::kPlain
                                                                               : nissa::console_style(STDERR_FILENO);
    auto& outlet = base::standard_error();
    sinks.push_back({"console", std::make_unique<nissa::ConsoleSink>(display, outlet, style)});
  }
  return std::make_unique<nissa::Hub>(static_cast<std::size_t>(config.telemetry.queue), std::move(sinks));
}

// Inputs of the first validation batch, on which grafts are measured.
torch::Tensor probe_of(Workbench& bench) {
  bench.validation_data->seek(0, 0);
  const auto batch = bench.validation_data->next();
  ESPER_CHECK(batch, "a loaded data set has a validation batch");
  return batch->inputs.to(bench.device);
}

std::unique_ptr<step::Model> fresh_model(const Workbench& bench) {
  return step::build_model(bench.config, bench.data.train.shape, bench.settings, bench.device);
}

// A fork without seeds is another network than its parent: it has no figures to end with before it trained.
void refuse_to_train_nothing(const tolaria::RunProgress& progress, const RunConfig& config, const std::string& path) {
  if (progress.validation || progress.epoch < static_cast<std::uint32_t>(config.epochs)) return;
  throw base::Error(base::ExitCode::kConfig,
                    no_epochs_left(progress.epoch, config, "esper train --resume " + path) +
                        "; its network was not trained since it was forked, and can be measured as it is: "
                        "esper evaluate " +
                        path);
}

}  // namespace

std::int64_t batches_per_epoch(const Workbench& bench) {
  const std::int64_t batch = bench.config.data.batch_size;
  return (data::num_samples(bench.data.train) + batch - 1) / batch;
}

Composition::Composition(Workbench& bench, const tolaria::RunFolder& folder, base::FileSystem& files, Console console,
                         std::unique_ptr<leyline::Controller> controller)
    : bench_(bench),
      files_(files),
      identity_(tolaria::training_identity(bench.config, bench.data)),
      display_(std::make_shared<leyline::Progress>()),
      hub_(make_hub(bench.config, folder, display_, console)),
      forecast_(controller ? lanes::GerminationForecast() : forecast_of(bench.config)),
      consultation_(make_consultation(std::move(controller), bench.config, clock_)) {}

void Composition::restore(const tolaria::RunFolder& folder) {
  from_ = tolaria::find_resume_point(
      files_, folder.path,
      {bench_.config, identity_, bench_.device, batches_per_epoch(bench_), [this] { return fresh_model(bench_); }},
      *consultation_);
  if (from_.model) bench_.model = std::move(from_.model);
  refuse_to_train_nothing(from_.progress, bench_.config, folder.path);
  if (!from_.unchecked.empty()) nissa::log::warning(from_.unchecked);
}

void Composition::keep_time(base::Duration since, Trace trace) {
  ledger_ = base::Ledger(clock_, since);
  if (trace == Trace::kOn) ledger_.keep_spans();
}

void Composition::start(const tolaria::RunFolder& folder, Start how) {
  open_loaders(bench_);
  tolaria::CheckpointStore store(files_, folder.checkpoints(), folder.journal(), bench_.config.checkpoint);
  store.spare(from_.refused);
  writer_ = std::make_unique<tolaria::CheckpointWriter>(std::move(store), clock_, bench_.config.safety.save_deadline);
  run_ = std::unique_ptr<tolaria::Run>(new tolaria::Run{bench_.config, folder.run_id(), identity_.text(), clock_,
                                                        bench_.device, *bench_.train_data, *bench_.validation_data,
                                                        bench_.data.skipped, probe_of(bench_), *bench_.model,
                                                        *consultation_, *writer_, *hub_, display_, from_.progress});
  run_->forecast = forecast_;
  run_->desk = bench_.desk.get();
  run_->twin = [&bench = bench_] { return fresh_model(bench); };
  if (how == Start::kResumed) {
    run_->lane_log = lanes::read_lane_log(files_, folder.journal(), from_.progress.step);
    if (const auto damaged = run_->lane_log.damaged(); damaged > 0) {
      nissa::log::warning("lane records of the journal that are damaged and were left out: " + std::to_string(damaged) +
                          "; steps of a compiled lane may not be repeated to the bit");
    }
  }
  run_->started = clock_.now();
  run_->ledger = std::move(ledger_);
  for (const auto& [path, reason] : from_.refused) {
    run_->events.push_back(
        event("tolaria.checkpoint_refused"_event, Level::kWarning, {{"path", path}, {"reason", reason}}));
  }
  if (how == Start::kResumed) {
    run_->events.push_back(event("tolaria.resumed"_event, Level::kInfo,
                                 {{"run_dir", folder.path},
                                  {"epoch", std::to_string(from_.progress.epoch)},
                                  {"step", std::to_string(from_.progress.step)},
                                  {"checkpoint", from_.checkpoint}}));
  } else {
    run_->events.push_back(
        event("tolaria.run_started"_event, Level::kInfo,
              {{"run_dir", folder.path},
               {"name", bench_.config.name},
               {"epochs", std::to_string(bench_.config.epochs)},
               {"device", bench_.device.str()},
               {"precision", std::string(base::name_of(device::precision_of(bench_.settings.compute_type)))},
               {"config_hash", base::hash_text(config::config_hash(bench_.config))}}));
  }
  if (bench_.data.skipped > 0) {
    run_->events.push_back(
        event("tolaria.samples_skipped"_event, Level::kWarning, {{"count", std::to_string(bench_.data.skipped)}}));
  }
  writer_->record(tolaria::start_note(how == Start::kResumed ? "resumed" : "started",
                                      {from_.progress.step, from_.progress.epoch, identity_.text()},
                                      kasmina::topology_of(bench_.model->network.save_topology())));
  tolaria::report_events(*run_);
}

void Composition::close_telemetry() {
  hub_->shutdown(kTelemetryDeadline);
  for (const auto& sink : hub_->counts()) {
    if (sink.lost() == 0) continue;
    nissa::log::warning("telemetry sink " + sink.name + ": " + std::to_string(sink.lost()) + " of " +
                        std::to_string(sink.delivered + sink.dropped) + " packets were lost");
  }
}

nlohmann::ordered_json Composition::telemetry_counts() const {
  auto counts = nlohmann::ordered_json::object();
  for (const auto& sink : hub_->counts()) {
    counts[sink.name] = {{"delivered", sink.delivered - sink.errors}, {"lost", sink.lost()}};
  }
  return counts;
}

void Composition::abandon(const std::exception& error) {
  const bool saved = tolaria::save_after(*run_, error);
  run_->events.push_back(event("tolaria.run_finished"_event, Level::kError,
                               {{"epochs", std::to_string(run_->progress.epoch)},
                                {"steps", std::to_string(run_->progress.step)},
                                {"status", saved ? "failed after saving" : "failed"},
                                {"reason", error.what()}}));
  tolaria::report_end(*run_);
  close_telemetry();
}

void Composition::finish(const tolaria::RunOutcome& outcome) {
  const base::LedgerScope telling(run_->ledger, base::Owner::kTelemetry);
  display_->phase = leyline::Phase::kDone;
  run_->events.push_back(event("tolaria.run_finished"_event, Level::kInfo,
                               {{"exit_code", std::to_string(static_cast<int>(tolaria::exit_code_of(outcome)))},
                                {"epochs", std::to_string(run_->progress.epoch)},
                                {"steps", std::to_string(run_->progress.step)},
                                {"reason", outcome.reason}}));
  tolaria::report_end(*run_);
  close_telemetry();
}

}  // namespace esper::engine
