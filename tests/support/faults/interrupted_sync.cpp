#include "support/faults/interrupted_sync.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace {

thread_local bool is_sync_interrupted = false;

int sync_with(long call, int file) {
  if (!std::exchange(is_sync_interrupted, false)) return static_cast<int>(::syscall(call, file));
  errno = EINTR;
  return -1;
}

}  // namespace

extern "C" int fsync(int file) { return sync_with(SYS_fsync, file); }
extern "C" int fdatasync(int file) { return sync_with(SYS_fdatasync, file); }

namespace esper::test {

void interrupt_next_sync() { is_sync_interrupted = true; }

}  // namespace esper::test
