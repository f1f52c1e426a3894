#pragma once
// What becomes of a sweep's job whose attempt has ended and was settled, at the rung that it trained to. Any thread;
// the last one reads the file system.

#include <optional>

#include "jobs/job/sweep_record.h"
#include "sweep/sweep.h"

namespace esper::jobs {

bool is_last_rung(const SweepTrial& trial, const sweep::Sweep& sweep);
// It trains to more than its rung: its user continued it after its sweep had ended.
bool was_left_by_sweep(const Job& job, const SweepTrial& trial, const sweep::Sweep& sweep);

// For a job that has trained to its rung, which is not the last one: it is paused, or cancelled, rather than succeeded.
void stop_at_rung(Job& job, StopPurpose stopped_for, SweepState sweep);

// What the job came to at its rung; nothing: it has not reached it, or is not to be judged by it. Throws base::IoError
// where that cannot be read now.
std::optional<double> result_at_rung(const Job& job, const SweepTrial& trial, const sweep::Sweep& sweep,
                                     StopPurpose stopped_for);

}  // namespace esper::jobs
