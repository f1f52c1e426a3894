#include "engine/bench/loop.h"

#include "config/writing/write.h"
#include "engine/composition.h"
#include "history/telemetry/jsonl_reader.h"
#include "storage/real_file_system.h"
#include "tolaria/epoch_loop.h"
#include "tolaria/state/training_identity.h"

namespace esper::engine::bench {
namespace {

double microseconds(base::Duration duration) { return std::chrono::duration<double, std::micro>(duration).count(); }

void take_times(const std::vector<tolaria::StepTime>& times, LoopFigures& figures) {
  for (const auto& [begin, end] : times) figures.step_us.push_back(microseconds(end - begin));
  const auto stride = static_cast<std::size_t>(figures.steps_per_epoch);
  for (std::size_t last = 2 * stride - 1; last < times.size(); last += stride) {
    figures.epoch_ms.push_back(microseconds(times[last].end - times[last - stride].end) / 1e3);
  }
  for (std::size_t first = stride; first < times.size(); first += stride) {
    figures.pause_ms.push_back(microseconds(times[first].begin - times[first - 1].end) / 1e3);
  }
}

void take_packets(const std::string& path, LoopFigures& figures) {
  history::read_jsonl(path, [&](const nlohmann::json& packet) {
    for (const auto& event : packet.at("events")) figures.events.push_back(event);
    if (packet.at("source_subsystem") != "tolaria") return;
    for (const auto& metric : packet.at("metrics")) {
      if (is_plain_number(metric)) figures.last[metric.at("name")] = metric.at("value");
    }
    const bool epoch = packet.at("packet_id").get<std::string>().find("-epoch-") != std::string::npos;
    if (epoch) figures.packets.push_back(packet);
  });
}

}  // namespace

LoopFigures run_loop(const config::RunConfig& config, const Scratch& scratch, const std::string& name,
                     const std::string& cache_dir, std::unique_ptr<leyline::Controller> controller,
                     base::ExitCode expected) {
  auto& files = storage::real_file_system();
  TrainingSetup setup = set_up(config, cache_dir);
  const OpenRun open{files, tolaria::create_run_folder(files, scratch.path(name), config::resolved_yaml(config))};
  std::vector<tolaria::StepTime> times;
  Composition composition({.setup = setup,
                           .open = open,
                           .policy = make_policy(config, cache_dir, std::move(controller)),
                           .training_hash = tolaria::training_identity(config, setup.data).text(),
                           .start = {.run_dir = open.folder.path},
                           .progress = tolaria::RunProgress(),
                           .step_times = &times});
  composition.run().at_the_end = tolaria::AtTheEnd::kLeave;  // what it times has no end
  LoopFigures figures;
  figures.steps_per_epoch = composition.run().facts.steps_per_epoch();
  times.reserve(static_cast<std::size_t>(figures.steps_per_epoch * config.epochs));
  const auto outcome = tolaria::run_epochs(composition.run());
  composition.finish(outcome);
  const auto code = tolaria::exit_code_of(outcome);
  if (code != expected) {
    const bool is_early = code == base::ExitCode::kDone;
    throw base::Error(is_early ? base::ExitCode::kBug : code,
                      is_early ? "the measured run was not disturbed" : "the measured run stopped: " + outcome.reason);
  }
  take_times(times, figures);
  take_packets(open.folder.telemetry(), figures);
  return figures;
}

}  // namespace esper::engine::bench
