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

// How a replay stands: the state, and the record before the one that is followed.
struct Replay {
  State state;
  const GrowthRecord* last = nullptr;
  std::string hash{};  // of the topology; empty: not known. Most records do not change it
};

bool is_certain(const State& state) { return state.starts_known && state.doubt.empty(); }

void find_gap(Replay& replay, const GrowthRecord& record, const std::string& why) {
  const GrowthRecord& last = replay.last == nullptr ? record : *replay.last;
  replay.state.gaps.push_back({last.number, record.number, last.place, record.place, why, 0});
  replay.state.doubt = describe(replay.state.gaps.back());
}

void clear_doubt(State& state, const GrowthRecord& record) {
  state.doubt.clear();
  if (!state.gaps.empty() && state.gaps.back().sound_from == 0) state.gaps.back().sound_from = record.number;
}

Stage stage_of_freed(const GrowthRecord& forked, const std::string& slot_id) {
  if (!forked.snapshot) return Stage::kDormant;
  const auto& slots = forked.snapshot->slots;
  const auto found = std::ranges::find(slots, slot_id, &SlotTopology::id);
  return found == slots.end() || has_module(found->stage) ? Stage::kDormant : found->stage;
}

void start_from(Replay& replay, const GrowthRecord& record) {
  State& state = replay.state;
  leave_out(state.topology, record);
  const bool gap = is_certain(state) && state.topology != *record.snapshot;
  if (gap) find_gap(replay, record, differences(state.topology, *record.snapshot).front());
  state.topology = *record.snapshot;
  replay.hash.clear();
  state.starts_known = true;
  clear_doubt(state, record);
}

// Why the record's event does not follow from the topology as it is; the event is applied all the same.
std::string apply_event(Topology& topology, const GrowthRecord& record) {
  if (!record.event) return {};
  const auto& event = *record.event;
  if (record.what == "stage")
    return apply(topology, {event.slot, event.seed_id, event.blueprint, event.from, event.to});
  const bool folds = record.what == "fold" && event.passed.value_or(false);
  return folds ? apply_fold(topology, event.slot, event.seed_id) : std::string();
}

void follow(Replay& replay, const GrowthRecord& record) {
  if (record.snapshot) return start_from(replay, record);
  State& state = replay.state;
  if (record.event) replay.hash.clear();
  const auto why = apply_event(state.topology, record);
  if (!why.empty() && is_certain(state)) find_gap(replay, record, why);
  if (record.hash.empty() || !state.starts_known) return;
  if (replay.hash.empty()) replay.hash = topology_hash(state.topology);
  if (replay.hash == record.hash) {
    clear_doubt(state, record);
  } else if (state.doubt.empty()) {
    find_gap(replay, record,
             "the recorded topology hash is " + record.hash + ", the recorded events give " + replay.hash);
  }
}

bool is_checkpoint_at(const GrowthRecord& record, RunPlace place) {
  return (record.what == "checkpoint" || record.what == "segment") && record.place == place;
}

}  // namespace

std::string describe(const GrowthGap& gap) {
  return fmt::format("records are missing before step {} (between record {} of the journal, of {}, and record {}): {}",
                     gap.to.step, gap.after, place_text(gap.from), gap.before, gap.why);
}

void GrowthHistory::take(std::string_view text) {
  GrowthRecord record;
  const GrowthRecordKind kind = read_growth_record(text, record);
  if (kind == GrowthRecordKind::kGrowth && record.what == "segment" && repeats_what_is_known(record)) return;
  record.number = ++num_records_;
  if (kind == GrowthRecordKind::kDamaged) {
    ++damaged_;
    if (damaged_records_.size() < kMostDamaged) damaged_records_.push_back(num_records_);
  }
  if (kind != GrowthRecordKind::kGrowth) return;
  if (records_.size() >= kMostRecords || bytes_ + text.size() > kMostBytes) {
    ++left_out_;
    return;
  }
  bytes_ += text.size();
  if (record.what == "resumed") {
    discarded_ += std::erase_if(records_, [&](const GrowthRecord& known) { return known.place > record.place; });
  }
  records_.push_back(std::move(record));
}

// Where records before it were not read, it stands for them.
bool GrowthHistory::repeats_what_is_known(const GrowthRecord& segment) {
  const bool whole = num_records_ == segment.records_before && !records_.empty();
  num_records_ = std::max(num_records_, segment.records_before);
  if (whole) ++num_records_;
  return whole;
}

State GrowthHistory::replay(std::optional<RunPlace> until, const Visit& visit) const {
  Replay replay;
  for (const auto& record : records_) {
    if (until && record.place > *until) continue;
    follow(replay, record);
    replay.last = &record;
    if (visit) visit(record, replay.state);
  }
  return std::move(replay.state);
}

bool GrowthHistory::begin_with(const GrowthHistory& parent, RunPlace until) {
  const auto is_before = [&](const GrowthRecord& record) { return record.place <= until; };
  const auto count = records_.size() + static_cast<std::size_t>(std::ranges::count_if(parent.records_, is_before));
  if (count > kMostRecords || bytes_ + parent.bytes_ > kMostBytes) return false;
  std::vector<GrowthRecord> records;
  records.reserve(count);
  std::ranges::copy_if(parent.records_, std::back_inserter(records), is_before);
  std::ranges::move(records_, std::back_inserter(records));
  records_ = std::move(records);
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
  for (const auto& record : records_) {
    if (record.place.step <= step) last = record.place;
  }
  return last;
}

Agreement compare(const GrowthHistory& history, RunPlace place, const Topology& held) {
  using Kind = Agreement::Kind;
  if (history.left_out() > 0) return {Kind::kUnknown, "the journal is too long to be read completely"};
  if (history.records().empty()) return {Kind::kUnknown, "the journal has no growth records"};
  const State state = history.replay(place);
  if (!state.starts_known) return {Kind::kUnknown, "the journal does not contain the initial topology"};
  if (state.topology == held) return {Kind::kAgrees, {}};
  if (!state.doubt.empty()) return {Kind::kUnknown, state.doubt};
  const auto covers = [&](const GrowthRecord& record) { return is_checkpoint_at(record, place); };
  if (std::ranges::none_of(history.records(), covers)) {
    return {Kind::kUnknown, "the journal ends before this checkpoint"};
  }
  return {Kind::kDiffers, base::joined(differences(state.topology, held), "; ")};
}

}  // namespace esper::history
