#include "history/growth/growth_history.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/text/joined.h"

namespace esper::history {

using leyline::apply;
using leyline::apply_fold;
using leyline::differences;
using leyline::has_module;
using leyline::SlotTopology;
using leyline::Stage;
using leyline::Topology;
using leyline::topology_hash;

namespace {

using State = GrowthHistory::State;

// How a replay stands: the state, and the note before the one that is followed.
struct Replay {
  State state;
  const GrowthRecord* last = nullptr;
  std::string hash{};  // of the topology; empty: not known. Most notes do not change it
};

bool is_certain(const State& state) { return state.starts_known && state.doubt.empty(); }

void find_gap(Replay& replay, const GrowthRecord& note, const std::string& why) {
  const GrowthRecord& last = replay.last == nullptr ? note : *replay.last;
  replay.state.gaps.push_back({last.record, note.record, last.place, note.place, why, 0});
  replay.state.doubt = describe(replay.state.gaps.back());
}

void clear_doubt(State& state, const GrowthRecord& note) {
  state.doubt.clear();
  if (!state.gaps.empty() && state.gaps.back().sound_from == 0) state.gaps.back().sound_from = note.record;
}

Stage stage_of_freed(const GrowthRecord& forked, const std::string& slot_id) {
  if (!forked.snapshot) return Stage::kDormant;
  const auto& slots = forked.snapshot->slots;
  const auto found = std::ranges::find(slots, slot_id, &SlotTopology::id);
  return found == slots.end() || has_module(found->stage) ? Stage::kDormant : found->stage;
}

void start_from(Replay& replay, const GrowthRecord& note) {
  State& state = replay.state;
  leave_out(state.topology, note);
  const bool gap = is_certain(state) && state.topology != *note.snapshot;
  if (gap) find_gap(replay, note, differences(state.topology, *note.snapshot).front());
  state.topology = *note.snapshot;
  replay.hash.clear();
  state.starts_known = true;
  clear_doubt(state, note);
}

// Why the note's event does not follow from the topology as it is; the event is applied all the same.
std::string apply_event(Topology& topology, const GrowthRecord& note) {
  if (!note.event) return {};
  const auto& event = *note.event;
  if (note.what == "stage") return apply(topology, {event.slot, event.seed_id, event.blueprint, event.from, event.to});
  const bool folds = note.what == "fold" && event.passed.value_or(false);
  return folds ? apply_fold(topology, event.slot, event.seed_id) : std::string();
}

void follow(Replay& replay, const GrowthRecord& note) {
  if (note.snapshot) return start_from(replay, note);
  State& state = replay.state;
  if (note.event) replay.hash.clear();
  const auto why = apply_event(state.topology, note);
  if (!why.empty() && is_certain(state)) find_gap(replay, note, why);
  if (note.hash.empty() || !state.starts_known) return;
  if (replay.hash.empty()) replay.hash = topology_hash(state.topology);
  if (replay.hash == note.hash) {
    clear_doubt(state, note);
  } else if (state.doubt.empty()) {
    find_gap(replay, note, "the recorded topology hash is " + note.hash + ", the recorded events give " + replay.hash);
  }
}

bool is_checkpoint_at(const GrowthRecord& note, RunPlace place) {
  return (note.what == "checkpoint" || note.what == "segment") && note.place == place;
}

}  // namespace

std::string describe(const GrowthGap& gap) {
  return fmt::format("records are missing before step {} (between record {} of the journal, of {}, and record {}): {}",
                     gap.to.step, gap.after, place_text(gap.from), gap.before, gap.why);
}

void GrowthHistory::take(std::string_view text) {
  GrowthRecord note;
  const GrowthRecordKind kind = read_growth_record(text, note);
  if (kind == GrowthRecordKind::kGrowth && note.what == "segment" && repeats_what_is_known(note)) return;
  note.record = ++records_;
  if (kind == GrowthRecordKind::kDamaged) {
    ++damaged_;
    if (damaged_records_.size() < kMostDamaged) damaged_records_.push_back(records_);
  }
  if (kind != GrowthRecordKind::kGrowth) return;
  if (notes_.size() >= kMostRecords || bytes_ + text.size() > kMostBytes) {
    ++left_out_;
    return;
  }
  bytes_ += text.size();
  if (note.what == "resumed") {
    discarded_ += std::erase_if(notes_, [&](const GrowthRecord& known) { return known.place > note.place; });
  }
  notes_.push_back(std::move(note));
}

// Where records before it were not read, it stands for them.
bool GrowthHistory::repeats_what_is_known(const GrowthRecord& segment) {
  const bool whole = records_ == segment.records_before && !notes_.empty();
  records_ = std::max(records_, segment.records_before);
  if (whole) ++records_;
  return whole;
}

State GrowthHistory::replay(std::optional<RunPlace> until, const Visit& visit) const {
  Replay replay;
  for (const auto& note : notes_) {
    if (until && note.place > *until) continue;
    follow(replay, note);
    replay.last = &note;
    if (visit) visit(note, replay.state);
  }
  return std::move(replay.state);
}

bool GrowthHistory::begin_with(const GrowthHistory& parent, RunPlace until) {
  const auto is_before = [&](const GrowthRecord& note) { return note.place <= until; };
  const auto count = notes_.size() + static_cast<std::size_t>(std::ranges::count_if(parent.notes_, is_before));
  if (count > kMostRecords || bytes_ + parent.bytes_ > kMostBytes) return false;
  std::vector<GrowthRecord> notes;
  notes.reserve(count);
  std::ranges::copy_if(parent.notes_, std::back_inserter(notes), is_before);
  std::ranges::move(notes_, std::back_inserter(notes));
  notes_ = std::move(notes);
  bytes_ += parent.bytes_;
  return true;
}

void leave_out(Topology& topology, const GrowthRecord& forked) {
  for (auto& slot : topology.slots) {
    const bool goes = !slot.seed_id.empty() && std::ranges::find(forked.without, slot.seed_id) != forked.without.end();
    if (goes) slot = {slot.id, stage_of_freed(forked, slot.id), {}, {}};
  }
}

std::optional<RunPlace> GrowthHistory::place_at(std::int64_t step) const {
  std::optional<RunPlace> last;
  for (const auto& note : notes_) {
    if (note.place.step <= step) last = note.place;
  }
  return last;
}

Agreement compare(const GrowthHistory& history, RunPlace place, const Topology& held) {
  using Kind = Agreement::Kind;
  if (history.left_out() > 0) return {Kind::kUnknown, "the journal is too long to be read completely"};
  if (history.notes().empty()) return {Kind::kUnknown, "the journal has no growth records"};
  const State state = history.replay(place);
  if (!state.starts_known) return {Kind::kUnknown, "the journal does not contain the initial topology"};
  if (state.topology == held) return {Kind::kAgrees, {}};
  if (!state.doubt.empty()) return {Kind::kUnknown, state.doubt};
  const auto covers = [&](const GrowthRecord& note) { return is_checkpoint_at(note, place); };
  if (std::ranges::none_of(history.notes(), covers)) {
    return {Kind::kUnknown, "the journal ends before this checkpoint"};
  }
  return {Kind::kDiffers, base::joined(differences(state.topology, held), "; ")};
}

}  // namespace esper::history
