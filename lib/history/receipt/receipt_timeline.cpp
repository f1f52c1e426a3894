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

void take_graft(Receipt& receipt, const GrowthRecord& note) {
  receipt.parameters = value_at(note.event->values, "params");
  receipt.graft_stall_ms = note.event->took_ms;
  if (note.event->memory_bytes) receipt.memory_bytes = static_cast<double>(*note.event->memory_bytes);
}

// Follows one seed from record to record: through the events of its lifecycle, and the records that hold a whole
// topology. `esper topo` reads the same records.
class SeedTracker {
 public:
  explicit SeedTracker(Receipt& receipt) : receipt_(receipt) {}

  void take(const GrowthRecord& note, const leyline::Topology& topology) {
    const bool mine = is_about(note, receipt_.seed_id);
    const auto* place = find_seed(topology, receipt_.seed_id);
    const Stage now = place == nullptr ? Stage::kUnknown : place->stage;
    if (receipt_.slot.empty() && (mine || place != nullptr)) {
      receipt_.slot = mine ? note.event->slot : place->id;
      receipt_.blueprint = mine ? note.event->blueprint : place->blueprint;
    }
    const bool reported = mine && note.what == "stage" && note.event->from != note.event->to;
    if (reported && follows(note)) {
      move_as_recorded(note, now);
    } else if (reported || now != was_) {
      move_unrecorded(note, now, reported);
    }
    was_ = now;
    if (mine) take_event(note);
    last_ = note.place;
  }
  bool found() const { return !receipt_.stages.empty(); }
  void finish() {
    if (was_ != Stage::kUnknown) end_stage(last_.epoch);
  }

 private:
  bool follows(const GrowthRecord& note) const {
    return was_ == Stage::kUnknown ? is_germination(note) : note.event->from == was_;
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
  void move_as_recorded(const GrowthRecord& note, Stage now) {
    end_stage(note.place.epoch);
    if (was_ == Stage::kUnknown) receipt_.born = note.place;
    receipt_.reason = note.event->reason;
    enter(now, note.place);
  }
  // Notes of what led here are missing.
  void move_unrecorded(const GrowthRecord& note, Stage now, bool reported) {
    if (was_ == Stage::kUnknown && found()) return;  // it no longer exists: a note out of place
    if (was_ == Stage::kUnknown) {
      begin_unrecorded(note, now, reported);
    } else {
      receipt_.stages.back().epochs.reset();
    }
    if (reported) {
      const Stage from = note.event->from;
      if (from != was_ && has_module(from)) receipt_.stages.push_back({from, {}});
      receipt_.reason = note.event->reason;
      enter(now, note.place);
    } else if (was_ != Stage::kUnknown) {
      receipt_.reason = "the record with the reason is missing from the journal";
      enter(now, {});
    }
  }
  // Its creation is not recorded. A record without a change of stage gives the stage that it was in.
  void begin_unrecorded(const GrowthRecord& note, Stage now, bool reported) {
    using Origin = Receipt::Origin;
    const bool from_start = note.what == "started" && note.place == RunPlace{} && now == Stage::kFossilized;
    receipt_.origin = from_start ? Origin::kHost : note.what == "forked" ? Origin::kParent : Origin::kUnknown;
    if (from_start) receipt_.born = note.place;
    receipt_.reason = from_start
                          ? "host.modules: part of the host from the first step"
                          : "it existed at " + place_text(note.place) + "; the journal does not record its creation";
    if (reported) return;
    enter(now, receipt_.born);
    receipt_.ended.reset();
  }
  void take_event(const GrowthRecord& note) {
    if (note.what == "graft") take_graft(receipt_, note);
    if (note.what == "cull") receipt_.cull_stall_ms = note.event->took_ms;
    if (note.what == "fold" && note.event->passed.value_or(false)) receipt_.folded = note.event->reason;
    receipt_.timeline.push_back(note);
  }

  Receipt& receipt_;
  Stage was_ = Stage::kUnknown;  // kUnknown: it is not there
  std::optional<RunPlace> entered_;
  RunPlace last_;
};

// How many forks lie behind the note with that index.
std::size_t forks_after(const Lineage& lineage, std::size_t index) {
  std::size_t end = 0;
  for (std::size_t runs = lineage.ancestors.size(); runs > 0; --runs) {
    end += lineage.ancestors[runs - 1].notes;
    if (index < end) return runs;
  }
  return 0;
}

// The runs up to the one that tells of it first.
void take_ancestors(Receipt& receipt, const Lineage& lineage, std::size_t forks) {
  using Origin = Receipt::Origin;
  const auto first = lineage.ancestors.begin();
  receipt.ancestors.assign(first, first + static_cast<std::ptrdiff_t>(forks));
  if (receipt.origin != Origin::kParent) return;
  if (forks < lineage.ancestors.size()) {
    receipt.origin = Origin::kUnknown;  // the run before was read, and its notes of the seed are missing
  } else if (lineage.unread) {
    receipt.ancestors.push_back(*lineage.unread);
  }
}

}  // namespace

bool is_about(const GrowthRecord& note, const std::string& seed_id) {
  return note.event && note.event->seed_id == seed_id;
}

bool is_germination(const GrowthRecord& note) {
  return note.what == "stage" && has_module(note.event->to) && !has_module(note.event->from);
}
bool is_cull(const GrowthRecord& note) {
  return note.what == "stage" && has_module(note.event->from) && !has_module(note.event->to);
}

std::optional<double> value_at(const std::map<std::string, double>& values, const char* name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

void take_timeline(Receipt& receipt, const Lineage& lineage) {
  if (receipt.seed_id.empty()) fail_unknown(receipt.seed_id, lineage);  // free slots have that one
  SeedTracker tracker(receipt);
  std::size_t index = 0, first = 0;
  const auto end = lineage.history.replay({}, [&](const GrowthRecord& note, const GrowthHistory::State& now) {
    tracker.take(note, now.topology);
    ++index;
    if (!tracker.found()) first = index;
  });
  tracker.finish();
  receipt.doubt = end.doubt;
  if (!tracker.found()) fail_unknown(receipt.seed_id, lineage);
  take_ancestors(receipt, lineage, forks_after(lineage, first));
}

}  // namespace esper::history
