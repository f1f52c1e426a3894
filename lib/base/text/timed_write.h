#pragma once
// Writing to a file descriptor with a deadline. Any thread.

#include <cstddef>
#include <string_view>

#include "base/quantity.h"

namespace esper::base {

struct WriteResult {
  std::size_t written = 0;  // bytes
  int error = 0;            // errno; ETIMEDOUT when the reader was too slow; 0: all is written
};

// Continues after EINTR and short writes, and waits for room at most until the deadline; with a deadline of 0 it writes
// what there is room for now. On a non-blocking descriptor, and on a file, one write(2) where the kernel takes all at
// once. A blocking pipe or terminal is written in pieces of at most PIPE_BUF bytes, each after poll(2) saw room for it;
// another process that fills that room in between can make the call wait longer.
WriteResult write_all(int descriptor, std::string_view bytes, Duration deadline);

}  // namespace esper::base
