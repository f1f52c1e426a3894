#pragma once
// One submission for many seeds. Pure functions. Any thread.

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/job/job.h"

namespace esper::jobs {

inline constexpr std::size_t kMostRepeats = 10'000;

// The submission of one of its seeds: the seed is in the run file, in the name, in the token and, where that is given,
// in the run folder. Nothing where the run file has no line of its own for the seed, as resolved ones have.
std::optional<Submission> with_seed(const Submission& submission, std::uint64_t seed);

// The run folder of that one.
std::string run_dir_of_seed(const std::string& run_dir, std::uint64_t seed);

}  // namespace esper::jobs
