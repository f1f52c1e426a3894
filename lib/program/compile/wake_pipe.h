#pragma once
// Ends another thread's poll(2): a pipe that can be read after wake(), until drain().

#include <functional>

#include "base/descriptor.h"
#include "base/quantity.h"

namespace esper::program {

class WakePipe {
 public:
  // Throws base::IoError.
  WakePipe();
  int descriptor() const { return read_.number(); }
  void wake();
  void drain();

 private:
  base::Descriptor read_, write_;
};

// How a thread that waits is cancelled by another one.
struct Interrupt {
  int wake;                      // a descriptor that can be read when `wanted` should be polled
  std::function<bool()> wanted;  // takes what can be read
};

// False: the interrupt was requested before `length` had passed.
bool interruptible_sleep(base::Duration length, const Interrupt& interrupt);

}  // namespace esper::program
