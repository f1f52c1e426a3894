#include "leyline/growth_history.h"

#include <algorithm>

namespace esper::leyline {
namespace {

using State = GrowthHistory::State;

void find_gap(State& state, const GrowthNote& note, const std::string& why) {
  state.doubt = "notes are missing before step " + std::to_string(note.place.step) + ": " + why;
  ++state.gaps;
}

void start_from(State& state, const GrowthNote& note) {
  const bool gap = state.starts_known && state.doubt.empty() && state.topology != *note.snapshot;
  if (gap) find_gap(state, note, differences(state.topology, *note.snapshot).front());
  state.topology = *note.snapshot;
  state.starts_known = true;
  state.doubt.clear();
}

void follow(State& state, const GrowthNote& note) {
  if (note.snapshot) return start_from(state, note);
  if (note.event && note.what == "stage") {
    const auto& event = *note.event;
    const auto why = apply(state.topology, {event.slot, event.seed_id, event.blueprint, event.from, event.to});
    if (!why.empty() && state.starts_known && state.doubt.empty()) find_gap(state, note, why);
  }
  if (note.event && note.what == "fold" && note.event->passed.value_or(false)) {
    const auto why = apply_fold(state.topology, note.event->slot, note.event->seed_id);
    if (!why.empty() && state.starts_known && state.doubt.empty()) find_gap(state, note, why);
  }
  if (note.hash.empty() || !state.starts_known) return;
  const std::string hash = topology_hash(state.topology);
  if (hash == note.hash) {
    state.doubt.clear();
  } else if (state.doubt.empty()) {
    find_gap(state, note, "the run's topology was " + note.hash + ", what is told makes " + hash);
  }
}

bool is_checkpoint_at(const GrowthNote& note, RunPlace place) {
  return note.what == "checkpoint" && note.place == place;
}

}  // namespace

void GrowthHistory::take(std::string_view text) {
  GrowthNote note;
  const NoteKind kind = read_growth_note(text, note);
  if (kind == NoteKind::kDamaged) ++damaged_;
  if (kind != NoteKind::kGrowth) return;
  if (notes_.size() >= kMostNotes || bytes_ + text.size() > kMostBytes) {
    ++left_out_;
    return;
  }
  bytes_ += text.size();
  if (note.what == "resumed") {
    taken_back_ += std::erase_if(notes_, [&](const GrowthNote& known) { return known.place > note.place; });
  }
  notes_.push_back(std::move(note));
}

State GrowthHistory::replay(std::optional<RunPlace> until, const Visit& visit) const {
  State state;
  for (const auto& note : notes_) {
    if (until && note.place > *until) continue;
    follow(state, note);
    if (visit) visit(note, state);
  }
  return state;
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
  if (history.left_out() > 0) return {Kind::kUnknown, "the journal is too long to be read whole"};
  const State state = history.replay(place);
  if (!state.starts_known) return {Kind::kUnknown, "the journal does not tell the topology that the run began with"};
  if (state.topology == held) return {Kind::kAgrees, {}};
  if (!state.doubt.empty()) return {Kind::kUnknown, state.doubt};
  const auto covers = [&](const GrowthNote& note) { return is_checkpoint_at(note, place); };
  if (std::ranges::none_of(history.notes(), covers)) {
    return {Kind::kUnknown, "the journal ends before this checkpoint"};
  }
  std::string text;
  for (const auto& difference : differences(state.topology, held)) text += (text.empty() ? "" : "; ") + difference;
  return {Kind::kDiffers, text};
}

}  // namespace esper::leyline
