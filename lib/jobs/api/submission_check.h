#pragma once
// Whether what is submitted can be queued. Any thread; reads the file system.

#include <cstddef>
#include <string>

#include "jobs/job/job_change.h"
#include "jobs/job/sweep_record.h"

namespace esper::jobs {

// What one request may have at most: jobs that one comes after, and settings for a live run.
inline constexpr std::size_t kMostAfter = 1000, kMostAssignments = 1000;
// Of all jobs that a submission makes together: jobs that they come after, and bytes of run files.
inline constexpr std::size_t kMostDependencies = 1'000'000, kMostRunFileBytes = std::size_t{256} << 20;

// A submission that is repeated was queued while its folder was there.
enum class FolderCheck { kExists, kPathAlone };

// Everything that is wrong with it, for its user; empty: it can be queued.
std::string mistakes_in(const Submission& submission, FolderCheck folder = FolderCheck::kExists);
std::string mistakes_in(const SweepSubmission& submission);
// The same for a change, whatever job it is for.
std::string mistakes_in(const JobChange& change);

}  // namespace esper::jobs
