// `esper runs gc`
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/text/joined.h"
#include "base/text/text_outlet.h"
#include "esper/run_options.h"
#include "esper/runs/run_text.h"
#include "esper/runs/runs.h"
#include "runs/gc_plan.h"
#include "runs/remove_run.h"

namespace esper {
namespace {

using nlohmann::ordered_json;
using runs::GcOptions;
using runs::GcPlan;

struct RunsGcOptions {
  std::vector<std::string> roots;
  std::string state, older_than;
  std::size_t keep_last = 0;
  bool checkpoints = false, yes = false, json = false;
};

GcOptions gc_options(const RunsGcOptions& options) {
  const bool says_what =
      options.checkpoints || !options.state.empty() || !options.older_than.empty() || options.keep_last > 0;
  if (!says_what) {
    throw base::Error(base::ExitCode::kConfig,
                      "which runs? Give --state, --older-than or --keep-last, or --checkpoints for the superseded "
                      "checkpoints of finished runs");
  }
  if (options.checkpoints && !options.state.empty()) {
    throw base::Error(base::ExitCode::kConfig, "--checkpoints is for finished runs: leave out --state");
  }
  GcOptions wanted;
  wanted.what = options.checkpoints ? GcOptions::What::kCheckpoints : GcOptions::What::kRuns;
  wanted.states = states_in(options.state);
  wanted.keep_last = options.keep_last;
  if (!options.older_than.empty()) wanted.older_than_ms = age_in("--older-than", options.older_than);
  return wanted;
}

std::string refusal_of(const std::string& run, GcOptions::What what) {
  const auto checked = what == GcOptions::What::kRuns ? runs::check_removable(run) : runs::check_prunable(run);
  return checked ? "" : checked.error();
}

// What the plan follows from. Checkpoints of a run that cannot be read are a problem, and none of them goes.
std::vector<runs::GcRun> gc_runs(runs::Refreshed& found, GcOptions::What what) {
  std::vector<runs::GcRun> read;
  for (const auto& record : found.runs) {
    runs::GcRun run{record, {}, refusal_of(record.path, what)};
    if (what == GcOptions::What::kCheckpoints && record.state == runs::RunState::kFinished) {
      try {
        run.checkpoints = runs::read_checkpoints(record, found.runs);
      } catch (const base::Error& error) {
        found.problems.emplace_back(error.what());
      }
    }
    read.push_back(std::move(run));
  }
  return read;
}

ordered_json plan_json(const GcPlan& plan) {
  ordered_json items = ordered_json::array(), kept = ordered_json::array();
  for (const auto& item : plan.items) {
    items.push_back({{"run", item.run}, {"checkpoints", item.checkpoints}, {"bytes", item.bytes}});
  }
  for (const auto& run : plan.kept) kept.push_back({{"run", run.run}, {"reason", run.reason}});
  return {{"items", std::move(items)}, {"kept", std::move(kept)}, {"bytes", plan.bytes}};
}

void print_plan(const GcPlan& plan, const std::vector<std::string>& problems) {
  for (const auto& item : plan.items) {
    const std::string what = item.checkpoints.empty() ? "the run" : counted(item.checkpoints.size(), "checkpoint");
    print_line(fmt::format("{}: {}, {}", item.run, what, bytes_text(item.bytes)));
  }
  for (const auto& run : plan.kept) print_line("kept: " + run.run + ": " + run.reason);
  for (const auto& problem : problems) print_line("note: " + problem);
}

// The problems.
std::vector<std::string> delete_planned(GcPlan& plan) {
  std::vector<std::string> problems;
  plan.bytes = 0;
  for (const auto& item : plan.items) {
    const auto removed = item.checkpoints.empty() ? runs::remove_run(item.run, item.stamp)
                                                  : runs::remove_checkpoints(item.run, item.checkpoints, item.stamp);
    if (removed) plan.bytes += item.bytes;
    if (!removed) problems.push_back(removed.error());
  }
  return problems;
}

int gc(const RunsGcOptions& options) {
  const auto wanted = gc_options(options);
  auto found = runs_below(options.roots);
  GcPlan plan = runs::gc_plan(gc_runs(found, wanted.what), wanted, now_ms());
  if (!options.json) print_plan(plan, found.problems);
  const auto failures = options.yes ? delete_planned(plan) : std::vector<std::string>();
  if (!failures.empty()) base::print_failure(base::joined(failures, "\n"));
  if (options.json) {
    ordered_json result = plan_json(plan);
    result["deleted"] = options.yes;
    result["problems"] = found.problems;
    for (const auto& failure : failures) result["problems"].push_back(failure);
    print_json(result);
  } else {
    const char* what = options.yes ? "freed {}\n" : "would free {}; to delete: the same command with --yes\n";
    print(fmt::format(fmt::runtime(plan.items.empty() ? "nothing to delete\n" : what), bytes_text(plan.bytes)));
  }
  return failures.empty() ? 0 : static_cast<int>(base::ExitCode::kResources);
}

}  // namespace

void add_runs_gc(CLI::App& runs, Front& front) {
  CLI::App* command =
      add_command(runs, "gc", "Print which runs or checkpoints could be deleted; delete them with --yes",
                  "esper runs gc --state interrupted,failed --older-than 30d\n"
                  "         esper runs gc --checkpoints --yes\n"
                  "A run that is running, or that a kept run was forked from, is never deleted");
  const auto options = std::make_shared<RunsGcOptions>();
  add_roots_option(*command, options->roots);
  command
      ->add_option("--state", options->state,
                   "Runs in these states, with commas between them; default: all but running and damaged")
      ->type_name("STATE")
      ->check(refuse_empty);
  command->add_option("--older-than", options->older_than, "Runs that have written nothing for this long: 12h, 30d, 8w")
      ->type_name("AGE")
      ->check(refuse_empty);
  command->add_option("--keep-last", options->keep_last, "Keep the newest of these runs")
      ->type_name("N")
      ->check(whole_number(0));
  command->add_flag("--checkpoints", options->checkpoints,
                    "Delete checkpoints of finished runs instead of runs; the last, the best, and those that links or "
                    "forks refer to are kept");
  command->add_flag("--yes", options->yes, "Delete");
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return gc(*options); }; });
}

}  // namespace esper
