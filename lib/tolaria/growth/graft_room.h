#pragma once
// Whether the memory for a grown network is there, before it is taken: a kernel that runs out of memory kills the
// process instead of refusing. And the disk for its checkpoints: a run that cannot be saved loses what it learns. Pure;
// any thread.

#include <cstdint>
#include <string>

#include "base/memory_room.h"

namespace esper::tolaria {

// What each further parameter element takes in a training run, from above: itself and its gradient, two moments, an
// average, and copies of the state in memory, for going back and for checking a lane (config/facts/run_forecast.cpp).
inline constexpr std::int64_t kBytesPerElement = 48;

// Why so many further elements do not fit into seven eighths of the room, as text; empty: they fit.
std::string lack_of_memory(std::int64_t elements, const base::MemoryRoom& room);

// What each takes in a checkpoint, from above: itself, two moments, an average.
inline constexpr std::int64_t kSavedBytesPerElement = 16;

// Why a checkpoint of a state of so many bytes, and so many further elements, does not fit on the disk, as text; empty:
// it fits. room: bytes, free or kept for it.
std::string lack_of_disk(std::uint64_t state_bytes, std::int64_t elements, std::uint64_t room);

}  // namespace esper::tolaria
