#pragma once
// The states of one shape of the step, and every way from one to another. docs/lanes.md shows the table as a picture.
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
// A resumed run repeats the bits that its journal has; then it goes on as it would have begun.
struct Following {};
// The incumbent runs, or eager; a candidate may still come.
struct Searching {};
// The next step is run by the candidate and by eager, and compared.
struct Checking {
  Lane candidate;
  int near_misses = 0;  // comparisons in a row that were off by little
};
// Incumbent and candidate take turns on the run's own steps, which are timed.
struct Trialling {
  Lane candidate;
  program::Trial trial{};
};
// The incumbent runs, or eager, and nothing is left to try.
struct Settled {};
// The next step is run by the incumbent and by eager, and compared.
struct Rechecking {
  int near_misses = 0;
};
// Eager runs, for good: it was asked for, or the step cannot be recorded.
struct EagerOnly {};

using ShapeState =
    std::variant<WarmUp, Recording, Following, Searching, Checking, Trialling, Settled, Rechecking, EagerOnly>;

// Which of them; in the order of the variant.
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
  kFollow,         // the journal of the resumed run says how its steps ran
  kWarmedUp,       // the eager steps before the recording are done
  kRecorded,       // the step is a program
  kStaysEager,     // it cannot be one, or eager was asked for
  kInstalled,      // its program was prepared before the structure came
  kFollowed,       // the journal's last change of bits has been repeated, and the step's program is known
  kFollowedEager,  // the same, and no program is known
  kCannotFollow,   // what the journal names cannot be had
  kCandidate,      // a lane was made that may be better
  kAgreed,         // its step is eager's
  kAdopted,        // it becomes the incumbent
  kRejected,       // its step is not eager's, it is not faster, or memory does not suffice
  kWithdrawn,      // it was found wrong in another shape of its group
  kCheckDue,       // the incumbent has run for step.check_every steps
  kSearchEnded,    // nothing is left to try
  kSearchResumed,  // something is: of its group's program, or after a rejection
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

// Every transition that there is.
std::span<const ShapeTransition> shape_transitions();
// Where the event leads; empty: it cannot happen in this state.
std::optional<StateId> next_state(StateId from, ShapeEvent event);

}  // namespace esper::lanes
