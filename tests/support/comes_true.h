#pragma once
// Waits for what another thread or process does. What never comes fails a test, and does not hang it.

#include <chrono>
#include <thread>

#include "support/patience.h"

namespace esper::test {

// Asks again and again until the condition holds; false: it did not by the deadline.
template <class Condition>
bool comes_true(Condition condition, std::chrono::milliseconds deadline = kPatience) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace esper::test
