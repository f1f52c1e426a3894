#include "config/fields/removed_fields.h"

#include <algorithm>

namespace esper::config {
namespace {

// Each was the last field of its section: earlier_versions.h puts it back there for the hash.
constexpr RemovedField kRemoved[] = {
    // A run file from elsewhere must not bring code that this process loads.
    {.path = "step.compile.cache_dir",
     .unset = "",
     .refused = "compiled programs are native code, so a run file cannot set their folder; leave it out and use "
                "--cache-dir or ESPER_CACHE",
     .ignored = "is ignored: only --cache-dir and ESPER_CACHE set the folder of compiled programs"},
    {.path = "policy.reports.retention",
     .unset = "24h",
     .refused =
         "was removed, as it had no effect: each report is an event tamiyo.field_report in telemetry.jsonl, which "
         "telemetry.limit_mb keeps small; leave it out",
     .ignored =
         "is ignored, as it had no effect; checkpoints of a policy gnn, or of one in a process of its own, that were "
         "saved with another value than 24h continue with the version that saved them"},
};

}  // namespace

std::span<const RemovedField> removed_fields() { return kRemoved; }

const RemovedField* removed_field(std::string_view path) {
  const auto* found = std::ranges::find(kRemoved, path, &RemovedField::path);
  return found == std::end(kRemoved) ? nullptr : found;
}

}  // namespace esper::config
