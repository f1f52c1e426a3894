#pragma once
// Named points where a test or a drill makes something fail. Code asks `if (fault::hit("storage.write")) ...` and fails
// in its own way. Any thread; one relaxed atomic load when nothing is armed.
//
// Armed by arm(), or by the environment: ESPER_FAULTS=storage.write@3,tolaria.loss@10x2,data.read@1x*
//   point@n    the n-th hit fires (n counts from 1)
//   point@nxm  the n-th hit and those after it fire, m in all; * for every one

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace esper::base::fault {

constexpr std::uint64_t kEveryHit = UINT64_MAX;

// Replaces what was armed at the same point; counting starts again.
void arm(std::string_view point, std::uint64_t nth = 1, std::uint64_t times = 1);
// Arms the points of a text in the form above, each as arm(). Throws Error{kConfig} if it cannot be parsed, or has a
// point twice.
void arm_from_text(std::string_view text);
// Why arm_from_text() would refuse it; empty: it would not.
std::string problem_of(std::string_view text);
// Reads ESPER_FAULTS now rather than at the first hit, so that main can report a mistake in it.
void arm_from_environment();
// Nothing fires any more, the environment included.
void disarm_all();
// The armed points of which no hit fired, and a line for the log that says so of one.
std::vector<std::string> unfired();
std::string unfired_text(std::string_view point);
bool is_armed(std::string_view point);
// Hits of an armed point so far, those that fired and those that did not.
std::uint64_t hits(std::string_view point);

namespace internal {
// 0: nothing armed. Starts at 1 because the environment has not been read yet.
extern std::atomic<int> armed;
bool hit_armed(std::string_view point);
}  // namespace internal

// Whether the point fails this time.
inline bool hit(std::string_view point) {
  return internal::armed.load(std::memory_order_relaxed) != 0 && internal::hit_armed(point);
}

}  // namespace esper::base::fault
