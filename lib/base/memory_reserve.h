#pragma once
// Memory for when operator new fails. std::bad_alloc ends one operation; but code that must not throw allocates, too (a
// JSON document's destructor does, also while that exception unwinds), and a failure there would end the process. So a
// failing allocation gives a block of the reserve back to the heap and is tried again, which standard error says once.
// Half of the blocks are for allocations during unwinding alone; where only those are left, std::bad_alloc is thrown.
// Of use under ulimit -v and strict overcommit; it stops no out-of-memory killer, and tensors do not come from operator
// new. Any thread.

#include <cstddef>

namespace esper::base {

// So small that they stay in the heap, where small pieces come from, when they are given back.
inline constexpr std::size_t kReserveBlock = 8 << 10U;  // bytes
inline constexpr std::size_t kReserveBlocks = 128;

// From now on there is a reserve; blocks that were given back are taken again, if there is memory for them.
void hold_memory_reserve();

}  // namespace esper::base
