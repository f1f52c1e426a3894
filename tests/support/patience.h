#pragma once
// How long tests wait. What they wait for comes much sooner on an idle machine; a machine that other programs keep busy
// is slower by a factor of eight and more, and that must not decide a test.

#include <chrono>

namespace esper::test {

// For what takes milliseconds or a few seconds: only what hangs takes longer.
inline constexpr std::chrono::seconds kPatience{120};
// For what compiles programs, or whole runs.
inline constexpr std::chrono::minutes kLongPatience{20};

}  // namespace esper::test
