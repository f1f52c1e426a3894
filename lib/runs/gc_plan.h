#pragma once
// What is to be deleted to free disk space, as a pure function of what is there. Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runs/kept_checkpoints.h"
#include "runs/run_record.h"

namespace esper::runs {

struct GcOptions {
  enum class What { kRuns, kCheckpoints } what = What::kRuns;
  // kRuns: which are deleted; empty: all but running and damaged ones. kCheckpoints: finished ones alone are looked at.
  std::vector<RunState> states{};
  std::optional<std::int64_t> older_than_ms{};  // no process wrote to it for so long
  std::size_t keep_last = 0;                    // so many of them, those written to last, stay
};

struct GcRun {
  RunRecord record;
  std::vector<RunCheckpoint> checkpoints;  // of kCheckpoints, finished runs
  std::string refusal{};                   // why what is asked for cannot be deleted of it; empty: it can be
};

struct GcItem {
  std::string run, stamp;                // the folder, and its stamp when it was looked at
  std::vector<std::string> checkpoints;  // that go; empty: the whole run
  std::uint64_t bytes = 0;               // that this frees
};

struct GcKept {
  std::string run, reason;
};

struct GcPlan {
  std::vector<GcItem> items;
  std::vector<GcKept> kept;  // runs that the options name, and why they stay
  std::uint64_t bytes = 0;   // of all items
};

// A running run always stays, as does one with a refusal, and so does one that another of `runs` was forked from and
// that stays itself: receipts of the fork go back to it. `now_ms`: since the UNIX epoch.
GcPlan gc_plan(const std::vector<GcRun>& runs, const GcOptions& options, std::int64_t now_ms);

}  // namespace esper::runs
