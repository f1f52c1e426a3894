#pragma once
// What `esper train` leaves behind besides its checkpoints: summary.json, trace.json, and the text at its end.

#include <nlohmann/json_fwd.hpp>

#include "base/file_system.h"
#include "base/ledger/ledger.h"
#include "device/kernel_trace.h"
#include "tolaria/run/run_folder.h"
#include "tolaria/state/run_outcome.h"

namespace esper::engine {

bool reached_its_end(const tolaria::RunOutcome& outcome);

// How the run ended, on both streams. Where it did not reach its end, the exit status says so whoever reads standard
// output: after SIGHUP the terminal no longer exists, and a pipe may have no reader or one that waits.
enum class OutcomeFormat { kText, kJson };
void print_outcome(const nlohmann::ordered_json& summary, const tolaria::RunOutcome& outcome, OutcomeFormat format);

// All warn where the file cannot be written. The traces: where one was kept.
void publish_kernel_trace(base::FileSystem& files, const tolaria::RunFolder& folder,
                          const device::KernelTrace& kernels);
void publish_summary(base::FileSystem& files, const tolaria::RunFolder& folder, const nlohmann::ordered_json& summary);
void publish_trace(base::FileSystem& files, const tolaria::RunFolder& folder, base::Ledger& ledger);

}  // namespace esper::engine
