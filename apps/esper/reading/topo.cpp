// `esper topo`: what a run's journal shows of its growth.
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/printable.h"
#include "esper/front.h"
#include "esper/run_options.h"
#include "history/growth/run_history.h"

namespace esper {
namespace {

using history::GrowthHistory;
using history::GrowthRecord;
using history::RunPlace;
using leyline::Topology;
using nlohmann::ordered_json;

struct TopoOptions {
  std::string run;
  std::optional<std::int64_t> at;
  std::int64_t from = 0, to = 0;
  bool json = false;
};

ordered_json place_json(const RunPlace& place) { return {{"epoch", place.epoch}, {"step", place.step}}; }

void print_gaps(const std::vector<std::string>& gaps) {
  for (const auto& gap : gaps) print_line("note: " + gap);
}

// "GERMINATE: plateau" behind what it led to.
std::string asked(const history::GrowthEvent& event) {
  return event.decision.empty() ? "" : " (command " + event.decision + ")";
}

std::string event_text(const GrowthRecord& record) {
  const auto& event = *record.event;
  const std::string to(base::name_of(event.to)), from(base::name_of(event.from));
  const std::string who = event.seed_id.empty() ? event.blueprint : event.seed_id + " " + event.blueprint;
  const std::string where = event.slot + (who.empty() ? "" : " " + who);
  if (record.what == "stage" && event.from == event.to) return where + " " + to + ": " + event.reason + asked(event);
  if (record.what == "stage") return where + " " + from + " -> " + to + asked(event);
  if (record.what == "gate")
    return where + " " + event.code + (event.passed.value_or(false) ? " passed: " : " not passed: ") + event.reason;
  if (record.what == "command_rejected")
    return where + " rejected (" + event.code + "): " + event.reason + asked(event);
  return where + " " + record.what + (event.reason.empty() ? "" : ": " + event.reason);
}

std::string record_text(const GrowthRecord& record) {
  if (record.event) return event_text(record);
  std::string text = record.what;
  if (!record.parent.empty()) text += " from " + record.parent + ", checkpoint " + record.checkpoint;
  if (!record.without.empty()) text += fmt::format(", without {}", base::joined(record.without));
  return text;
}

// All but the checkpoints: those change nothing.
bool is_shown(const GrowthRecord& record) { return record.what != "checkpoint"; }

void print_log(const history::RunHistory& run) {
  std::string last_doubt;
  run.history.replay({}, [&](const GrowthRecord& record, const GrowthHistory::State& now) {
    if (!now.doubt.empty() && now.doubt != last_doubt) print_line("! " + now.doubt);
    last_doubt = now.doubt;
    if (!is_shown(record)) return;
    const std::string hash = record.hash.empty() && record.snapshot ? topology_hash(*record.snapshot) : record.hash;
    print_line((hash.empty() ? std::string(16, '-') : hash) + "  " + place_text(record.place) + ": " +
               record_text(record));
  });
  if (run.history.discarded() > 0) {
    print(
        fmt::format("{} records were discarded: the run was resumed from an earlier step\n", run.history.discarded()));
  }
}

ordered_json log_json(const TopoOptions& options, const history::RunHistory& run) {
  ordered_json records = ordered_json::array();
  const auto state = run.history.replay({}, [&](const GrowthRecord& record, const GrowthHistory::State& now) {
    if (!is_shown(record)) return;
    ordered_json reported = growth_record_json(record);
    if (!now.doubt.empty()) reported["doubt"] = now.doubt;
    records.push_back(std::move(reported));
  });
  return {{"run_dir", options.run},
          {"records", std::move(records)},
          {"topology", topology_json(state.topology)},
          {"hash", topology_hash(state.topology)},
          {"discarded", run.history.discarded()},
          {"gaps", run.gaps}};
}

int log(const TopoOptions& options) {
  const auto run = history::read_run_history(options.run);
  if (options.json) {
    print_json(log_json(options, run));
  } else {
    print_log(run);
    print_gaps(run.gaps);
  }
  return 0;
}

struct Moment {
  RunPlace place;
  GrowthHistory::State state;
};

// Before the first record; a fork's parent may know.
[[noreturn]] void fail_too_early(const history::RunHistory& run, std::int64_t step) {
  const auto& first = run.history.records().front();
  std::string text =
      fmt::format("the journal has no record of step {}: it begins with {}", step, place_text(first.place));
  if (!first.parent.empty()) {
    text +=
        fmt::format(", where the run was forked; esper topo show {} --at {} shows the parent run", first.parent, step);
  }
  throw base::Error(base::ExitCode::kData, text);
}

// Adds to run.gaps where the step is after all that is known.
Moment moment_at(history::RunHistory& run, std::int64_t step) {
  const auto place = run.history.place_at(step);
  if (!place) fail_too_early(run, step);
  if (step > run.last().step) {
    run.gaps.push_back(fmt::format("step {} is after the last recorded step ({}), which is shown instead", step,
                                   place_text(run.last())));
  }
  return {*place, run.history.replay(place)};
}

//   input
//     |
//   [r0c0]--- seed-0001 conv_light, TRAINING
//     |
//   [r0c1]    DORMANT
//     |
//   [r0c2]    not growing
//     |
//   output
std::string drawing(const Topology& topology) {
  std::string text = "  input\n    |\n";
  for (const auto& slot : topology.slots) {
    const bool grows = slot.stage != leyline::Stage::kTerminated || !slot.seed_id.empty();
    const std::string stage(grows ? base::name_of(slot.stage) : "not growing");
    const std::string seed = slot.seed_id + " " + slot.blueprint;
    text += base::printable_line("  [" + slot.id + "]" +
                                 (slot.seed_id.empty() ? "    " + stage : "--- " + seed + ", " + stage) +
                                 (slot.folded ? ", folded into the host's next layer" : "")) +
            "\n    |\n";
  }
  return text + "  output\n";
}

int show(const TopoOptions& options) {
  auto run = history::read_run_history(options.run);
  const auto [place, state] = options.at ? moment_at(run, *options.at) : Moment{run.last(), run.history.replay()};
  if (options.json) {
    print_json({{"run_dir", options.run},
                {"at", place_json(place)},
                {"last", place_json(run.last())},
                {"topology", topology_json(state.topology)},
                {"hash", topology_hash(state.topology)},
                {"doubt", state.doubt},
                {"gaps", run.gaps}});
    return 0;
  }
  print(fmt::format("as of {}; seeds created: {}; topology {}\n{}", place_text(place), state.topology.seeds_born,
                    topology_hash(state.topology), drawing(state.topology)));
  if (!state.doubt.empty()) print_line("! " + state.doubt);
  print_gaps(run.gaps);
  return 0;
}

int diff(const TopoOptions& options) {
  auto run = history::read_run_history(options.run);
  const auto a = moment_at(run, options.from), b = moment_at(run, options.to);
  const auto changes = differences(a.state.topology, b.state.topology);
  if (options.json) {
    print_json({{"run_dir", options.run},
                {"a", {{"at", place_json(a.place)}, {"hash", topology_hash(a.state.topology)}}},
                {"b", {{"at", place_json(b.place)}, {"hash", topology_hash(b.state.topology)}}},
                {"differences", changes},
                {"gaps", run.gaps}});
    return changes.empty() ? 0 : kDiffers;
  }
  print("from " + place_text(a.place) + " to " + place_text(b.place) +
        (changes.empty() ? ": the same topology\n" : ":\n"));
  for (const auto& change : changes) print_line("  " + change);
  print_gaps(run.gaps);
  return changes.empty() ? 0 : kDiffers;
}

std::shared_ptr<TopoOptions> add_topo(CLI::App& command, Front& front, int (*act)(const TopoOptions&)) {
  const auto options = std::make_shared<TopoOptions>();
  command.add_option("run", options->run, "Run folder of a finished, running or killed run")
      ->required()
      ->type_name("RUN");
  add_json_flag(command, options->json);
  command.callback([&front, options, act] { front.run = [options, act] { return act(*options); }; });
  return options;
}

}  // namespace

void add_topo_log(CLI::App& topo, Front& front) {
  add_topo(*add_command(topo, "log", "Print every event of growth, with step, reason and the topology's hash after it",
                        "esper topo log runs/digits-20260301-120000"),
           front, log);
}

void add_topo_show(CLI::App& topo, Front& front) {
  CLI::App* command = add_command(topo, "show", "Show which seed occupied each slot, rebuilt from the journal",
                                  "esper topo show runs/digits-20260301-120000 --at 460");
  const auto options = add_topo(*command, front, show);
  command->add_option("--at", options->at, "Number of optimizer steps; default: the newest event")
      ->type_name("STEP")
      ->check(whole_number(0));
}

void add_topo_diff(CLI::App& topo, Front& front) {
  CLI::App* command = add_command(topo, "diff", "Print what changed in the topology between two steps",
                                  "esper topo diff runs/digits-20260301-120000 230 920\n"
                                  "Exit code 0: the topologies are equal; 1: they differ");
  const auto options = add_topo(*command, front, diff);
  command->add_option("first", options->from, "Number of optimizer steps")
      ->required()
      ->type_name("STEP")
      ->check(whole_number(0));
  command->add_option("second", options->to, "Number of optimizer steps to compare with it")
      ->required()
      ->type_name("STEP")
      ->check(whole_number(0));
}

}  // namespace esper
