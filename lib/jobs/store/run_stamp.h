#pragma once
// The part of a run folder's name that says when it was asked for. Pure. Any thread.

#include <cstdint>
#include <string>

namespace esper::jobs {

// "20260301-120000" in UTC, of milliseconds since the UNIX epoch.
std::string run_stamp(std::int64_t at_ms);

}  // namespace esper::jobs
