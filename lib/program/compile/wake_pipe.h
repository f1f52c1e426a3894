#pragma once
// Ends another thread's poll(2): a pipe that can be read after wake(), until drain().

#include "base/descriptor.h"

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

}  // namespace esper::program
