#pragma once
// A program that links interrupted_sync.cpp has an fsync(2) and an fdatasync(2) that a signal can interrupt, as those
// of network and user-space file systems.

namespace esper::test {

// The next call in this thread fails with EINTR.
void interrupt_next_sync();

}  // namespace esper::test
