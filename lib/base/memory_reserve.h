#pragma once
// What is left when memory runs out. A lack is std::bad_alloc, and ends one undertaking; but code that must not throw
// allocates, too (a JSON document's destructor does), and a lack there would end the process. So the first lack in the
// process gives a reserve back to the system, says so on standard error, and is tried again; the next one throws as
// ever. Any thread.

#include <cstddef>

namespace esper::base {

inline constexpr std::size_t kMemoryReserve = std::size_t{1} << 20U;  // bytes

// From now on there is a reserve; one that was used is taken up again, if there is memory for it.
void hold_memory_reserve();

}  // namespace esper::base
