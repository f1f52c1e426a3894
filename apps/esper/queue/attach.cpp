// `esper attach`: the progress of a job, as `esper train` shows it.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text/json_fields.h"
#include "base/text/standard_output.h"
#include "base/text/text_outlet.h"
#include "config/loading/load.h"
#include "esper/front.h"
#include "esper/queue/job_commands.h"
#include "esper/queue/job_events.h"
#include "esper/queue/job_requests.h"
#include "esper/queue/job_run.h"
#include "esper/queue/job_table.h"
#include "esper/queue/quit_on_interrupt.h"
#include "esper/queue/telemetry_follower.h"
#include "jobs/job/job_states.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/console_sink.h"

namespace esper {
namespace {

using nlohmann::json;
using namespace leyline::literals;
using Kind = JobEvents::Seen::Kind;

struct AttachOptions {
  DaemonAddress address;
  std::int64_t job = 0;
};

constexpr auto kLongestWait = std::chrono::hours(1);

std::string farewell(std::int64_t job) {
  const bool has_bar = nissa::console_style(STDERR_FILENO) == nissa::ConsoleStyle::kBar;
  return fmt::format("{}detached: job {} keeps running; esper attach {} shows it again\n", has_bar ? "\r\x1b[K" : "",
                     job, job);
}

std::uint32_t number_of(const leyline::Attributes& attributes, const char* name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? 0 : base::parse_number<std::uint32_t>(found->second).value_or(0);
}

// What a run's telemetry says of its progress. Steps within an epoch are not reported.
void take_progress(const leyline::TelemetryPacket& packet, leyline::Progress& progress) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const auto epoch = number_of(packet.system_health.indicators, "epoch");
  const bool is_epoch =
      std::ranges::count(packet.metrics, "tolaria.training.loss"_metric.name(), &leyline::MetricValue::name) > 0;
  if (is_epoch && epoch > 0) {
    const auto epochs = progress.epochs.load(kRelaxed);  // 0: unknown
    progress.epoch.store(epochs == 0 ? epoch + 1 : std::min(epoch + 1, epochs), kRelaxed);
    progress.phase.store(leyline::Phase::kTraining, kRelaxed);
  }
  for (const auto& event : packet.events) {
    if (event.description != "tolaria.setting_changed"_event.name()) continue;
    const auto field = event.attributes.find("field");
    if (field != event.attributes.end() && field->second == "epochs")
      progress.epochs.store(number_of(event.attributes, "after"), kRelaxed);
  }
}

void show(const leyline::TelemetryPacket& packet, nissa::ConsoleSink& sink) {
  try {
    sink.emit(packet);
  } catch (const std::system_error&) {
    throw base::BrokenPipe();  // nobody watches any more
  }
}

class Attachment {
 public:
  explicit Attachment(const AttachOptions& options) : options_(options), events_(options.address) {}

  // The job as it was when it had ended.
  json run() {
    look();
    while (!has_ended(job_)) {
      say(job_line(job_));
      if (is_active(state_of(job_))) {
        follow();
      } else if (events_.next(kLongestWait).concerns(options_.job)) {
        look();
      }
    }
    return job_;
  }

 private:
  void look() { job_ = ask_daemon(options_.address, "GET", job_target(options_.job)); }

  // Each line once.
  void say(const std::string& line) {
    if (std::exchange(said_, line) != line) base::standard_error().write(line + "\n");
  }

  std::shared_ptr<leyline::Progress> new_progress() {
    auto progress = std::make_shared<leyline::Progress>();
    const auto loaded =
        config::read_run_config_text(ask_daemon_text(options_.address, job_target(options_.job, "config")), "run file");
    const bool is_known = loaded.problems.empty();
    if (is_known && !loaded.config.telemetry.jsonl)
      say(fmt::format("job {} writes no telemetry: esper logs -f {} shows what it prints", options_.job, options_.job));
    progress->epochs = static_cast<std::uint32_t>(planned_epochs_of(job_, is_known ? loaded.config.epochs : 0));
    return progress;
  }

  // Until the job does not run any more.
  void follow() {
    const auto progress = new_progress();
    nissa::ConsoleSink sink(progress, base::standard_error(), nissa::console_style(STDERR_FILENO));
    TelemetryFollower tail(base::text_at(job_, "run_dir"));
    const auto take = [&](const leyline::TelemetryPacket& packet) {
      take_progress(packet, *progress);
      show(packet, sink);
    };
    tail.read(take);
    while (is_active(state_of(job_))) {
      tail.wait(events_.descriptor(), kLongestWait);
      tail.read(take);
      take_events();
    }
    tail.read(take);
  }

  void take_events() {
    bool is_concerned = false;
    for (auto seen = events_.next({}); seen.kind != Kind::kNothing; seen = events_.next({}))
      is_concerned |= seen.concerns(options_.job);
    if (is_concerned) look();
  }

  const AttachOptions& options_;
  JobEvents events_;
  json job_;
  std::string said_;
};

int attach(const AttachOptions& options) {
  const QuitOnInterrupt quit(STDERR_FILENO, farewell(options.job));
  const auto job = Attachment(options).run();
  if (options.address.json) {
    print_json(job);
  } else {
    print_line(job_line(job));
  }
  return exit_code_of(job);
}

}  // namespace

void add_attach(Front& front) {
  CLI::App* command = add_command(front.root, "attach", "Show a job's progress until it ends; Ctrl-C leaves it running",
                                  "esper attach 12");
  const auto options = std::make_shared<AttachOptions>();
  command->add_option("job", options->job, "Job number")->required()->type_name("JOB")->check(job_or_sweep_number());
  add_daemon_options(*command, options->address);
  command->callback([&front, options] { front.run = [options] { return attach(*options); }; });
}

}  // namespace esper
