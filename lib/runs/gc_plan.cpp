#include "runs/gc_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>

namespace esper::runs {
namespace {

using What = GcOptions::What;

bool is_asked_for(const RunRecord& record, const GcOptions& options) {
  if (options.what == What::kCheckpoints) return record.state == RunState::kFinished;
  if (options.states.empty()) return record.state != RunState::kRunning && record.state != RunState::kDamaged;
  return std::ranges::find(options.states, record.state) != options.states.end();
}

// The runs that the options name, those written to last first.
std::vector<const GcRun*> newest_first(const std::vector<GcRun>& runs, const GcOptions& options) {
  std::vector<const GcRun*> chosen;
  for (const GcRun& run : runs) {
    if (is_asked_for(run.record, options)) chosen.push_back(&run);
  }
  std::ranges::sort(chosen, [](const GcRun* a, const GcRun* b) {
    return std::pair(-a->record.written_ms, a->record.path) < std::pair(-b->record.written_ms, b->record.path);
  });
  return chosen;
}

std::string why_kept(const GcRun& run, std::size_t place, const GcOptions& options, std::int64_t now_ms) {
  const RunRecord& record = run.record;
  if (record.state == RunState::kRunning) return "it is running";
  if (place < options.keep_last) return fmt::format("one of the newest {}", options.keep_last);
  const bool is_young = options.older_than_ms && now_ms - record.written_ms < *options.older_than_ms;
  return is_young ? "a process wrote to it since" : run.refusal;
}

GcItem item_of(const GcRun& run, What what) {
  GcItem item{run.record.path, run.record.stamp, {}, what == What::kRuns ? run.record.bytes : 0};
  if (what == What::kRuns) return item;
  for (const auto& checkpoint : run.checkpoints) {
    if (!checkpoint.needed.empty()) continue;
    item.checkpoints.push_back(checkpoint.name);
    item.bytes += checkpoint.bytes;
  }
  return item;
}

bool is_in(const std::vector<GcItem>& items, const std::string& run) {
  return std::ranges::find(items, run, &GcItem::run) != items.end();
}

// A fork that stays, of a run; empty: none.
std::string staying_fork(const GcPlan& plan, const std::vector<GcRun>& runs, const RunRecord& record) {
  for (const GcRun& other : runs) {
    if (is_fork_of(other.record, record) && !is_in(plan.items, other.record.path)) return other.record.path;
  }
  return {};
}

const RunRecord& record_of(const std::vector<GcRun>& runs, const std::string& path) {
  return std::ranges::find(runs, path, [](const GcRun& run) { return run.record.path; })->record;
}

// Until nothing changes any more: a fork that stays keeps its parent, that one its own.
void keep_parents(const std::vector<GcRun>& runs, GcPlan& plan) {
  for (std::size_t before = plan.items.size() + 1; plan.items.size() < before;) {
    before = plan.items.size();
    for (std::size_t i = 0; i < plan.items.size();) {
      const auto fork = staying_fork(plan, runs, record_of(runs, plan.items[i].run));
      if (fork.empty()) {
        ++i;
        continue;
      }
      plan.kept.push_back({plan.items[i].run, fork + " was forked from it"});
      plan.items.erase(plan.items.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

}  // namespace

GcPlan gc_plan(const std::vector<GcRun>& runs, const GcOptions& options, std::int64_t now_ms) {
  GcPlan plan;
  const auto chosen = newest_first(runs, options);
  for (std::size_t place = 0; place < chosen.size(); ++place) {
    const GcRun& run = *chosen[place];
    auto reason = why_kept(run, place, options, now_ms);
    GcItem item = item_of(run, options.what);
    if (!reason.empty()) {
      plan.kept.push_back({run.record.path, std::move(reason)});
    } else if (options.what == What::kRuns || !item.checkpoints.empty()) {
      plan.items.push_back(std::move(item));
    }
  }
  if (options.what == What::kRuns) keep_parents(runs, plan);
  for (const GcItem& item : plan.items) plan.bytes += item.bytes;
  return plan;
}

}  // namespace esper::runs
