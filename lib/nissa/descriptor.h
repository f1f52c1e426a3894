#pragma once
// Writing to a file descriptor with a deadline.

#include <string_view>

#include "leyline/descriptor.h"
#include "leyline/quantity.h"

namespace esper::nissa {

using leyline::Descriptor;

struct WriteResult {
  std::size_t written = 0;  // bytes
  int error = 0;            // errno; ETIMEDOUT when the reader was too slow; 0: all is written
};

// One write(2) where the kernel takes all at once. Goes on after EINTR and short writes; where the descriptor is
// non-blocking, waits for room at most until the deadline.
WriteResult write_all(int descriptor, std::string_view bytes, leyline::Duration deadline);

}  // namespace esper::nissa
