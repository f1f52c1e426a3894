#include "engine/composition.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/names.h"
#include "base/text/text_outlet.h"
#include "config/write.h"
#include "device/precision.h"
#include "engine/no_checkpoint.h"
#include "engine/no_epochs_left.h"
#include "kasmina/topology.h"
#include "leyline/telemetry.h"
#include "nissa/console_sink.h"
#include "nissa/jsonl_sink.h"
#include "nissa/log.h"
#include "nissa/telemetry_files.h"
#include "tamiyo/heuristic.h"
#include "tamiyo/null_controller.h"
#include "tolaria/growth/growth_check.h"
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

std::string reasons_of(const std::vector<tolaria::RefusedCheckpoint>& refused) {
  std::string text;
  for (const auto& [path, reason] : refused) text += "\n  " + path + ": " + reason;
  return text;
}

// A fork that was cut off before its checkpoint was there would begin from nothing.
void refuse_half_a_fork(const history::GrowthHistory& history, const tolaria::RunFolder& folder) {
  for (const auto& note : history.notes()) {
    if (note.what != "forked") continue;
    throw base::Error(base::ExitCode::kCheckpoint,
                      folder.path + " was forked from " + note.parent + ", but its checkpoint is gone; fork again");
  }
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

std::string why_unchecked(const std::string& checkpoint, const history::RunHistory& journal, const std::string& doubt) {
  const bool told = std::ranges::any_of(journal.gaps, [&](auto& gap) { return gap.find(doubt) != std::string::npos; });
  std::string reasons = told ? "" : doubt;
  for (const auto& gap : journal.gaps) reasons += (reasons.empty() ? "" : "; ") + gap;
  return "the network of " + checkpoint + " could not be held against the journal: " + reasons;
}

std::int64_t batches_per_epoch(const Workbench& bench) {
  const std::int64_t batch = bench.config.data.batch_size;
  return (data::num_samples(bench.data.train) + batch - 1) / batch;
}

Composition::Composition(Workbench& bench, const tolaria::RunFolder& folder, base::FileSystem& files, Console console,
                         std::unique_ptr<leyline::Controller> controller)
    : bench_(bench),
      files_(files),
      identity_(training_identity(bench.config, bench.data)),
      display_(std::make_shared<leyline::Progress>()),
      hub_(make_hub(bench.config, folder, display_, console)),
      forecast_(controller ? lanes::GerminationForecast() : forecast_of(bench.config)),
      consultation_(make_consultation(std::move(controller), bench.config, clock_)) {}

std::string Composition::accept(const tolaria::CheckpointImage& image) {
  if (auto reason = identity_.mismatch(image.info.training_hash); !reason.empty()) return reason;
  auto reason = tolaria::reason_to_refuse([&]() -> std::string {
    auto model = step::build_model(bench_.config, bench_.data.train.shape, bench_.settings, bench_.device);
    auto progress = tolaria::run_progress_from_json(image.run.at("progress"));
    if (progress.epoch != image.info.epoch || progress.step != image.info.step) return "run.json is of another step";
    if (progress.batch > batches_per_epoch(bench_)) return "its cursor is beyond the end of the epoch";
    const std::string controller = image.run.at("controller");
    auto misfit = step::restore_model(*model, image.run.at("topology"), image.tensors, bench_.device);
    if (!misfit.empty()) return misfit;
    consultation_->restore(controller);
    progress_ = progress;
    bench_.model = std::move(model);
    return {};
  });
  if (!reason.empty()) return reason;
  journal_ = history::read_journal_since(files_, run_dir_, {image.info.epoch, image.info.step});
  unchecked_ = tolaria::check_growth(journal_.history, image);
  return {};
}

void Composition::restore(const tolaria::RunFolder& folder) {
  run_dir_ = folder.path;
  restored_from_ = tolaria::restore_newest(
      files_, folder.checkpoints(), [this](const tolaria::CheckpointImage& image) { return accept(image); }, refused_);
  if (restored_from_.empty() && !refused_.empty()) {
    throw base::Error(base::ExitCode::kCheckpoint,
                      "no checkpoint of " + folder.path + " can be used:" + reasons_of(refused_) +
                          "\nMake one of them usable (permissions, the disk, its data, a newer version of esper) "
                          "and resume again; or begin a new run: esper train --config " +
                          folder.config());
  }
  if (restored_from_.empty()) {
    refuse_half_a_fork(history::read_journal(files_, folder.path).history, folder);
    // Training from step 0 in the folder of a run that had come further would replace that run.
    if (const auto why = lost_checkpoints(files_, folder.path); !why.empty()) {
      throw base::Error(base::ExitCode::kCheckpoint, why);
    }
  }
  refuse_to_train_nothing(progress_, bench_.config, folder.path);
  if (!unchecked_.empty()) nissa::log::warning(why_unchecked(restored_from_, journal_, unchecked_));
}

void Composition::keep_time(base::Duration since, Trace trace) {
  ledger_ = base::Ledger(clock_, since);
  if (trace == Trace::kOn) ledger_.keep_spans();
}

void Composition::start(const tolaria::RunFolder& folder, Start how) {
  open_loaders(bench_);
  tolaria::CheckpointStore store(files_, folder.checkpoints(), folder.journal(), bench_.config.checkpoint);
  store.spare(refused_);
  writer_ = std::make_unique<tolaria::CheckpointWriter>(std::move(store), clock_, bench_.config.safety.save_deadline);
  run_ = std::unique_ptr<tolaria::Run>(new tolaria::Run{bench_.config, folder.run_id(), identity_.text(), clock_,
                                                        bench_.device, *bench_.train_data, *bench_.validation_data,
                                                        bench_.data.skipped, probe_of(bench_), *bench_.model,
                                                        *consultation_, *writer_, *hub_, display_, progress_});
  run_->forecast = forecast_;
  run_->desk = bench_.desk.get();
  run_->twin = [&bench = bench_] {
    return step::build_model(bench.config, bench.data.train.shape, bench.settings, bench.device);
  };
  if (how == Start::kResumed) {
    run_->lane_log = lanes::read_lane_log(files_, folder.journal(), progress_.step);
    if (const auto damaged = run_->lane_log.damaged(); damaged > 0) {
      nissa::log::warning("lane records of the journal that are damaged and were left out: " + std::to_string(damaged) +
                          "; steps of a compiled lane may not be repeated to the bit");
    }
  }
  run_->started = clock_.now();
  run_->ledger = std::move(ledger_);
  for (const auto& [path, reason] : refused_) {
    run_->events.push_back(
        event("tolaria.checkpoint_refused"_event, Level::kWarning, {{"path", path}, {"reason", reason}}));
  }
  if (how == Start::kResumed) {
    run_->events.push_back(event("tolaria.resumed"_event, Level::kInfo,
                                 {{"run_dir", folder.path},
                                  {"epoch", std::to_string(progress_.epoch)},
                                  {"step", std::to_string(progress_.step)},
                                  {"checkpoint", restored_from_}}));
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
                                      {progress_.step, progress_.epoch, identity_.text()},
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
  // A batch that cannot be had leaves the state of the last whole step; anything else may have stopped within one.
  const auto* known = dynamic_cast<const base::Error*>(&error);
  const bool whole = known != nullptr && known->code() == base::ExitCode::kData;
  const bool saved = whole && tolaria::save_last_state(*run_);
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
