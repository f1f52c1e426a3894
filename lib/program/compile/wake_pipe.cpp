#include "program/compile/wake_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/file_system.h"

namespace esper::program {

WakePipe::WakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) throw base::IoError("make", "a pipe", errno);
  read_ = base::Descriptor(ends[0]);
  write_ = base::Descriptor(ends[1]);
}

void WakePipe::wake() {
  const char byte = 1;
  // A full pipe wakes as well.
  [[maybe_unused]] const auto ignored = ::write(write_.number(), &byte, 1);
}

void WakePipe::drain() {
  char bytes[64];
  while (::read(read_.number(), bytes, sizeof bytes) > 0) {
  }
}

}  // namespace esper::program
