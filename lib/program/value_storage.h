#pragma once
// Which values of a program share memory, and for how long each piece of memory is needed. Plain data; any thread.

#include <cstdint>
#include <vector>

#include "program/program.h"

namespace esper::program {

// Of one value: the value that brought its memory into being, itself unless it is a view.
struct ValueStorage {
  std::vector<ValueId> owner;          // by value
  std::vector<std::int32_t> last_use;  // by owner: the last operation that touches its memory; -1 where none does
};

// Views are recognised by the operators' schemas: a result that may alias an argument counts as its view.
ValueStorage find_storage(const Program& program);

}  // namespace esper::program
