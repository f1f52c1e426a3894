#pragma once
// How often work slept, instead of how long it took: what else the machine does changes the time, not this.

#include <sys/resource.h>

namespace esper::test {

// Times that this thread gave up the processor because it waited for something.
long waits_of(auto&& work) {
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  work();
  getrusage(RUSAGE_THREAD, &after);
  return after.ru_nvcsw - before.ru_nvcsw;
}

}  // namespace esper::test
