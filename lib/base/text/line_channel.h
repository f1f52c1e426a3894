#pragma once
// A two-way channel to a child process, spoken over in lines of text, and the end of that child. Nothing here waits
// longer than the given timeout, signals and a child that does not read or does not die included. One thread at a time.

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/quantity.h"

namespace esper::base {

class LineChannel {
 public:
  enum class Send {
    kSent,
    kTimeout,  // the other side does not read: part of the line may have gone
    kEnd,      // it closed its side
  };
  enum class Read {
    kLine,
    kTimeout,
    kEnd,    // the other side closed, or its line has no end
    kWoken,  // `wake` can be read
  };
  static constexpr std::size_t kLongestLine = 16u << 20;

  // Puts the child's end, which no other child inherits, into `theirs`. Throws std::system_error.
  explicit LineChannel(Descriptor& theirs);
  // The child's side: over the end that it was given.
  static LineChannel over(Descriptor end) { return LineChannel(std::move(end)); }

  // Adds the line's end.
  Send send(const std::string& line, Duration timeout);
  // The next line, without its end. `wake`: a descriptor, or -1.
  Read read_line(std::string& line, Duration timeout, int wake = -1);
  void close() { ours_.reset(); }

 private:
  explicit LineChannel(Descriptor&& end) : ours_(std::move(end)) {}
  bool take_line(std::string& line);

  Descriptor ours_;
  std::string received_;
  std::size_t searched_ = 0;  // how much of it has no line end
};

// Kills the process group that the child `leader` of this process leads, and waits for the leader. How it ended:
// "signal 9", "exit status 1"; "unknown" if it is still there after `timeout` (it hangs in the kernel).
std::string end_group(pid_t leader, Duration timeout);

}  // namespace esper::base
