#pragma once
// Whether what is submitted can be queued. Any thread; reads the file system.

#include <string>

#include "jobs/job/job_change.h"
#include "jobs/job/sweep_record.h"

namespace esper::jobs {

// Everything that is wrong with it, for its user; empty: it can be queued.
std::string mistakes_in(const Submission& submission);
std::string mistakes_in(const SweepSubmission& submission);
// The same for a change, whatever job it is for.
std::string mistakes_in(const JobChange& change);

}  // namespace esper::jobs
