#pragma once
// The states of one shape of the step, and the transitions between them. docs/lanes.md shows the table as a diagram.
// Plain data.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "lanes/lane/lane.h"
#include "program/trial.h"

namespace esper::lanes {

struct WarmUp {
  std::int64_t left = 0;  // eager steps before the step is recorded
};
// The next step is recorded as it runs.
struct Recording {};
// A resumed run repeats the bits that its journal records, then proceeds as a new shape.
struct Following {
  int last_turn = 0;  // steps of the last record, if that is of a trial
};
// The incumbent or eager runs; a candidate may still come.
struct Searching {};
// The next step is run by both the candidate and eager, and compared.
struct Checking {
  Lane candidate;
  int near_misses = 0;  // consecutive comparisons with a small difference
};
// Incumbent and candidate alternate on the run's own steps, which are timed.
struct Trialling {
  Lane candidate;
  program::Trial trial{};
};
// The incumbent or eager runs, and nothing is left to try.
struct Settled {};
// The next step is run by both the incumbent and eager, and compared.
struct Rechecking {
  int near_misses = 0;
};
// Eager runs permanently: it was selected, or the step cannot be recorded.
struct EagerOnly {};

using ShapeState =
    std::variant<WarmUp, Recording, Following, Searching, Checking, Trialling, Settled, Rechecking, EagerOnly>;

// The state's id, in the order of the variant.
enum class StateId {
  kWarmUp,
  kRecording,
  kFollowing,
  kSearching,
  kChecking,
  kTrialling,
  kSettled,
  kRechecking,
  kEagerOnly
};
constexpr auto names(StateId) {
  using S = StateId;
  return std::array{std::pair{S::kWarmUp, "WarmUp"},       std::pair{S::kRecording, "Recording"},
                    std::pair{S::kFollowing, "Following"}, std::pair{S::kSearching, "Searching"},
                    std::pair{S::kChecking, "Checking"},   std::pair{S::kTrialling, "Trialling"},
                    std::pair{S::kSettled, "Settled"},     std::pair{S::kRechecking, "Rechecking"},
                    std::pair{S::kEagerOnly, "EagerOnly"}};
}
inline StateId id_of(const ShapeState& state) { return static_cast<StateId>(state.index()); }

enum class ShapeEvent {
  kFollow,         // the journal of the resumed run records how its steps ran
  kWarmedUp,       // the eager steps before the recording are complete
  kRecorded,       // the step is a program
  kStaysEager,     // it cannot be recorded, or eager was selected
  kInstalled,      // its program was prepared before the structure changed
  kFollowed,       // the journal's last record was repeated: its compiled program is the incumbent, or will be compiled
  kFollowedEager,  // the same, and eager runs: its bits were recorded, or those of a program that was on trial
  kFollowedWarmUp,  // the same, and the warm-up goes on
  kCannotFollow,    // the program that the journal names is unavailable
  kCandidate,       // a lane that may be better is ready
  kAgreed,          // its step agrees with eager's
  kAdopted,         // it becomes the incumbent
  kRejected,        // its step differs from eager's, it is not faster, or memory ran out
  kWithdrawn,       // it was wrong in another shape of its group, or the run went back while it was tested
  kCheckDue,        // the incumbent has run for step.check_every steps, or may be why a step went wrong
  kSearchEnded,     // nothing is left to try
  kSearchResumed,   // a candidate is available again: its group's program, or after a rejection
};
constexpr auto names(ShapeEvent) {
  using E = ShapeEvent;
  return std::array{std::pair{E::kFollow, "follow"},
                    std::pair{E::kWarmedUp, "warmed up"},
                    std::pair{E::kRecorded, "recorded"},
                    std::pair{E::kStaysEager, "stays eager"},
                    std::pair{E::kInstalled, "installed"},
                    std::pair{E::kFollowed, "followed"},
                    std::pair{E::kFollowedEager, "followed in eager"},
                    std::pair{E::kFollowedWarmUp, "followed in warm-up"},
                    std::pair{E::kCannotFollow, "cannot follow"},
                    std::pair{E::kCandidate, "candidate"},
                    std::pair{E::kAgreed, "agreed"},
                    std::pair{E::kAdopted, "adopted"},
                    std::pair{E::kRejected, "rejected"},
                    std::pair{E::kWithdrawn, "withdrawn"},
                    std::pair{E::kCheckDue, "check due"},
                    std::pair{E::kSearchEnded, "search ended"},
                    std::pair{E::kSearchResumed, "search resumed"}};
}

struct ShapeTransition {
  StateId from;
  ShapeEvent event;
  StateId to;
};

// Every valid transition.
std::span<const ShapeTransition> shape_transitions();
// The state after the event; empty if the event cannot occur in this state.
std::optional<StateId> next_state(StateId from, ShapeEvent event);

}  // namespace esper::lanes
