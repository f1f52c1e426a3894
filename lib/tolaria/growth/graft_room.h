#pragma once
// Whether the memory for a grown network is there, before it is taken: a kernel that runs out of memory kills the
// process instead of refusing. Pure; any thread.

#include <cstdint>
#include <string>

#include "base/memory_room.h"

namespace esper::tolaria {

// What each further parameter element takes in a training run, from above: itself and its gradient, two moments, an
// average, and copies of the state in memory, for going back and for checking a lane (config/facts/run_forecast.cpp).
inline constexpr std::int64_t kBytesPerElement = 48;

// Why so many further elements do not fit into seven eighths of the room, as text; empty: they fit.
std::string lack_of_memory(std::int64_t elements, const base::MemoryRoom& room);

}  // namespace esper::tolaria
