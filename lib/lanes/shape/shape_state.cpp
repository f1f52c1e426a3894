#include "lanes/shape/shape_state.h"

#include <algorithm>

namespace esper::lanes {
namespace {

using S = StateId;
using E = ShapeEvent;

constexpr std::array kTransitions{
    ShapeTransition{S::kWarmUp, E::kWarmedUp, S::kRecording},
    ShapeTransition{S::kWarmUp, E::kStaysEager, S::kEagerOnly},
    ShapeTransition{S::kWarmUp, E::kFollow, S::kFollowing},
    ShapeTransition{S::kWarmUp, E::kInstalled, S::kSearching},
    ShapeTransition{S::kRecording, E::kRecorded, S::kSearching},
    ShapeTransition{S::kRecording, E::kStaysEager, S::kEagerOnly},
    ShapeTransition{S::kFollowing, E::kFollowed, S::kSearching},
    ShapeTransition{S::kFollowing, E::kFollowedEager, S::kRecording},
    ShapeTransition{S::kFollowing, E::kFollowedWarmUp, S::kWarmUp},
    ShapeTransition{S::kFollowing, E::kCannotFollow, S::kWarmUp},
    ShapeTransition{S::kFollowing, E::kStaysEager, S::kEagerOnly},
    ShapeTransition{S::kSearching, E::kCandidate, S::kChecking},
    ShapeTransition{S::kSearching, E::kCheckDue, S::kRechecking},
    ShapeTransition{S::kSearching, E::kSearchEnded, S::kSettled},
    ShapeTransition{S::kChecking, E::kAgreed, S::kTrialling},
    ShapeTransition{S::kChecking, E::kAdopted, S::kSearching},
    ShapeTransition{S::kChecking, E::kRejected, S::kSearching},
    ShapeTransition{S::kChecking, E::kWithdrawn, S::kSearching},
    ShapeTransition{S::kTrialling, E::kAdopted, S::kSearching},
    ShapeTransition{S::kTrialling, E::kRejected, S::kSearching},
    ShapeTransition{S::kTrialling, E::kWithdrawn, S::kSearching},
    ShapeTransition{S::kSettled, E::kCheckDue, S::kRechecking},
    ShapeTransition{S::kSettled, E::kSearchResumed, S::kSearching},
    ShapeTransition{S::kRechecking, E::kAgreed, S::kSearching},
    ShapeTransition{S::kRechecking, E::kRejected, S::kSearching},
    ShapeTransition{S::kRechecking, E::kWithdrawn, S::kSearching},
};

}  // namespace

std::span<const ShapeTransition> shape_transitions() { return kTransitions; }

std::optional<StateId> next_state(StateId from, ShapeEvent event) {
  const auto found = std::ranges::find_if(
      kTransitions, [&](const ShapeTransition& each) { return each.from == from && each.event == event; });
  if (found == kTransitions.end()) return std::nullopt;
  return found->to;
}

}  // namespace esper::lanes
