#pragma once
// One thing in which two runs were compared.

#include <cstddef>
#include <string>

namespace esper::drill {

struct Aspect {
  std::string name;          // "optimizer state"
  std::size_t compared = 0;  // how much of it there was
  std::string unit;          // of `compared`: "tensors"
  std::string difference{};  // the first one; empty: they are equal, to the last bit
  std::string remark{};      // what could not be compared, although the runs may be equal; empty: nothing
};

}  // namespace esper::drill
