#include "history/receipt/receipt_timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text/joined.h"
#include "leyline/seed_id.h"

namespace esper::history {
namespace {

using leyline::has_module;
using leyline::Stage;

const leyline::SlotTopology* find_seed(const leyline::Topology& topology, const std::string& seed_id) {
  const auto found = std::ranges::find(topology.slots, seed_id, &leyline::SlotTopology::seed_id);
  return found == topology.slots.end() ? nullptr : &*found;
}

[[noreturn]] void fail_unknown(const std::string& seed_id, const Lineage& lineage) {
  std::set<std::string> ids;
  const auto end = lineage.history.replay({}, [&](const GrowthRecord&, const GrowthHistory::State& now) {
    for (const auto& slot : now.topology.slots) {
      if (!slot.seed_id.empty()) ids.insert(slot.seed_id);
    }
  });
  const std::string seeds =
      ids.empty() ? "nothing grew in this run" : fmt::format("known seeds: {}", base::joined(ids));
  const auto number = leyline::number_of_seed(seed_id);
  const bool was_born = number > 0 && number <= end.topology.seeds_born;
  std::string where;
  for (const auto& gap : lineage.gaps) where += "; " + gap;
  throw base::Error(
      base::ExitCode::kConfig,
      was_born ? seed_id + " was created, but its records are missing: esper topo log shows where; " + seeds + where
               : "the journal has no seed \"" + seed_id + "\"; " + seeds);
}

void take_graft(Receipt& receipt, const GrowthRecord& record) {
  receipt.parameters = value_at(record.event->values, "params");
  receipt.graft_stall_ms = record.event->took_ms;
  if (record.event->memory_bytes) receipt.memory_bytes = static_cast<double>(*record.event->memory_bytes);
}

// Follows one seed from record to record: through the events of its lifecycle, and the records that hold a whole
// topology. `esper topo` reads the same records.
class SeedTracker {
 public:
  explicit SeedTracker(Receipt& receipt) : receipt_(receipt) {}

  void take(const GrowthRecord& record, const leyline::Topology& topology) {
    const bool mine = is_about(record, receipt_.seed_id);
    const auto* place = find_seed(topology, receipt_.seed_id);
    const Stage now = place == nullptr ? Stage::kUnknown : place->stage;
    if (receipt_.slot.empty() && (mine || place != nullptr)) {
      receipt_.slot = mine ? record.event->slot : place->id;
      receipt_.blueprint = mine ? record.event->blueprint : place->blueprint;
    }
    const bool reported = mine && record.what == "stage" && record.event->from != record.event->to;
    if (reported && follows(record)) {
      move_as_recorded(record, now);
    } else if (reported || now != was_) {
      move_unrecorded(record, now, reported);
    }
    was_ = now;
    if (mine) take_event(record);
    last_ = record.place;
  }
  bool found() const { return !receipt_.stages.empty(); }
  void finish() {
    if (was_ != Stage::kUnknown) end_stage(last_.epoch);
  }

 private:
  bool follows(const GrowthRecord& record) const {
    return was_ == Stage::kUnknown ? is_germination(record) : record.event->from == was_;
  }
  void end_stage(std::uint32_t epoch) {
    if (receipt_.stages.empty()) return;
    if (entered_) receipt_.stages.back().epochs = std::max(epoch, entered_->epoch) - entered_->epoch;
  }
  void enter(Stage now, std::optional<RunPlace> place) {
    entered_ = place;
    if (now == Stage::kUnknown) {
      receipt_.outcome = Receipt::Outcome::kCulled;
    } else {
      receipt_.stages.push_back({now, {}});
      receipt_.outcome = now == Stage::kFossilized ? Receipt::Outcome::kFossilized : Receipt::Outcome::kGrowing;
    }
    receipt_.ended = receipt_.outcome == Receipt::Outcome::kGrowing ? std::nullopt : place;
  }
  void move_as_recorded(const GrowthRecord& record, Stage now) {
    end_stage(record.place.epoch);
    if (was_ == Stage::kUnknown) receipt_.born = record.place;
    receipt_.reason = record.event->reason;
    enter(now, record.place);
  }
  // Records of what led here are missing.
  void move_unrecorded(const GrowthRecord& record, Stage now, bool reported) {
    if (was_ == Stage::kUnknown && found()) return;  // it no longer exists: a record out of place
    if (was_ == Stage::kUnknown) {
      begin_unrecorded(record, now, reported);
    } else {
      receipt_.stages.back().epochs.reset();
    }
    if (reported) {
      const Stage from = record.event->from;
      if (from != was_ && has_module(from)) receipt_.stages.push_back({from, {}});
      receipt_.reason = record.event->reason;
      enter(now, record.place);
    } else if (was_ != Stage::kUnknown) {
      receipt_.reason = "the record with the reason is missing from the journal";
      enter(now, {});
    }
  }
  // Its creation is not recorded. A record without a change of stage gives the stage that it was in.
  void begin_unrecorded(const GrowthRecord& record, Stage now, bool reported) {
    using Origin = Receipt::Origin;
    const bool from_start = record.what == "started" && record.place == RunPlace{} && now == Stage::kFossilized;
    receipt_.origin = from_start ? Origin::kHost : record.what == "forked" ? Origin::kParent : Origin::kUnknown;
    if (from_start) receipt_.born = record.place;
    receipt_.reason = from_start
                          ? "host.modules: part of the host from the first step"
                          : "it existed at " + place_text(record.place) + "; the journal does not record its creation";
    if (reported) return;
    enter(now, receipt_.born);
    receipt_.ended.reset();
  }
  void take_event(const GrowthRecord& record) {
    if (record.what == "graft") take_graft(receipt_, record);
    if (record.what == "cull") receipt_.cull_stall_ms = record.event->took_ms;
    if (record.what == "fold" && record.event->passed.value_or(false)) receipt_.folded = record.event->reason;
    receipt_.timeline.push_back(record);
  }

  Receipt& receipt_;
  Stage was_ = Stage::kUnknown;  // kUnknown: it is not there
  std::optional<RunPlace> entered_;
  RunPlace last_;
};

// How many forks lie behind the record with that index.
std::size_t forks_after(const Lineage& lineage, std::size_t index) {
  std::size_t end = 0;
  for (std::size_t runs = lineage.ancestors.size(); runs > 0; --runs) {
    end += lineage.ancestors[runs - 1].records;
    if (index < end) return runs;
  }
  return 0;
}

// The runs up to the one that records it first.
void take_ancestors(Receipt& receipt, const Lineage& lineage, std::size_t forks) {
  using Origin = Receipt::Origin;
  const auto first = lineage.ancestors.begin();
  receipt.ancestors.assign(first, first + static_cast<std::ptrdiff_t>(forks));
  if (receipt.origin != Origin::kParent) return;
  if (forks < lineage.ancestors.size()) {
    receipt.origin = Origin::kUnknown;  // the run before was read, and its records of the seed are missing
  } else if (lineage.unread) {
    receipt.ancestors.push_back(*lineage.unread);
  }
}

}  // namespace

bool is_about(const GrowthRecord& record, const std::string& seed_id) {
  return record.event && record.event->seed_id == seed_id;
}

bool is_germination(const GrowthRecord& record) {
  return record.what == "stage" && has_module(record.event->to) && !has_module(record.event->from);
}
bool is_cull(const GrowthRecord& record) {
  return record.what == "stage" && has_module(record.event->from) && !has_module(record.event->to);
}

std::optional<double> value_at(const std::map<std::string, double>& values, const char* name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

void take_timeline(Receipt& receipt, const Lineage& lineage) {
  if (receipt.seed_id.empty()) fail_unknown(receipt.seed_id, lineage);  // free slots have that one
  SeedTracker tracker(receipt);
  std::size_t index = 0, first = 0;
  const auto end = lineage.history.replay({}, [&](const GrowthRecord& record, const GrowthHistory::State& now) {
    tracker.take(record, now.topology);
    ++index;
    if (!tracker.found()) first = index;
  });
  tracker.finish();
  receipt.doubt = end.doubt;
  if (!tracker.found()) fail_unknown(receipt.seed_id, lineage);
  take_ancestors(receipt, lineage, forks_after(lineage, first));
}

}  // namespace esper::history
