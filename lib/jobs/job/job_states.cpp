#include "jobs/job/job_states.h"

#include <algorithm>
#include <array>

namespace esper::jobs {
namespace {

using S = JobState;

struct Move {
  JobState from, to;
};

constexpr std::array kMoves{
    Move{S::kHeld, S::kQueued},         // released
    Move{S::kHeld, S::kCancelled},      //
    Move{S::kQueued, S::kStarting},     // resources were free
    Move{S::kQueued, S::kHeld},         // held back by the user
    Move{S::kQueued, S::kCancelled},    //
    Move{S::kQueued, S::kFailed},       // what it waits for did not succeed, or its folder is gone
    Move{S::kStarting, S::kRunning},    // its processes exist
    Move{S::kStarting, S::kQueued},     // they never came to be
    Move{S::kStarting, S::kFailed},     // nor ever will
    Move{S::kStarting, S::kStopping},   //
    Move{S::kStarting, S::kSucceeded},  // it ended while no daemon looked, as do the next four
    Move{S::kStarting, S::kDiverged},   //
    Move{S::kRunning, S::kStopping},    // asked to
    Move{S::kRunning, S::kQueued},      // interrupted: again
    Move{S::kRunning, S::kSucceeded},   //
    Move{S::kRunning, S::kFailed},      //
    Move{S::kRunning, S::kDiverged},    //
    Move{S::kRunning, S::kPaused},      // reached its rung of a sweep, as does the next one
    Move{S::kStarting, S::kPaused},     //
    Move{S::kStopping, S::kPaused},     //
    Move{S::kStopping, S::kQueued},     // made room for another one
    Move{S::kStopping, S::kCancelled},  //
    Move{S::kStopping, S::kSucceeded},  // it was faster
    Move{S::kStopping, S::kFailed},     //
    Move{S::kStopping, S::kDiverged},   //
    Move{S::kPaused, S::kQueued},       // continued
    Move{S::kPaused, S::kCancelled},    //
    Move{S::kFailed, S::kQueued},       // retried by the user, as are the next two
    Move{S::kCancelled, S::kQueued},    //
    Move{S::kDiverged, S::kQueued},     //
};

}  // namespace

bool is_terminal(JobState state) {
  return state == S::kSucceeded || state == S::kFailed || state == S::kCancelled || state == S::kDiverged;
}

bool is_active(JobState state) { return state == S::kStarting || state == S::kRunning || state == S::kStopping; }

bool may_move(JobState from, JobState to) {
  return std::ranges::any_of(kMoves, [&](const Move& move) { return move.from == from && move.to == to; });
}

}  // namespace esper::jobs
