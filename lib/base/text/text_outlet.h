#pragma once
// Text for users on a descriptor that other processes share, above all standard error: never waits longer than a
// deadline, independent of the reader.

#include <atomic>
#include <mutex>
#include <string_view>

#include "base/descriptor.h"
#include "base/quantity.h"

namespace esper::base {

// O_NONBLOCK belongs to the open file, which the shell and other processes share, so it is never set there: a pipe or a
// terminal is opened once more for this object; where that is not permitted, each piece is written after poll(2) saw
// room.
class TextOutlet {
 public:
  static constexpr Duration kDeadline = std::chrono::seconds(1);

  // descriptor: open, and outlives this object.
  explicit TextOutlet(int descriptor, Duration deadline = kDeadline);

  // Writes text unchanged; 0, or an errno if a part of it is lost (ETIMEDOUT: no reader). After a text that was
  // lost to the deadline, later ones get no time to wait until one goes through; a line that was cut is ended first.
  // Any thread.
  int write(std::string_view text);

  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
  const Duration deadline_;
  const Descriptor own_;  // the same file, opened non-blocking; closed where there is none
  std::timed_mutex mutex_;
  std::atomic<bool> stuck_{false};
  bool torn_ = false;  // what was written last ends within a line
};

// Standard error of this process. Never destroyed.
TextOutlet& standard_error();

// "esper: TEXT" on standard error, in red where it is a terminal and NO_COLOR is not set. Escapes the text.
void print_failure(std::string_view text);

}  // namespace esper::base
