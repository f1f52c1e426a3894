#pragma once
// Starts a program as a child of this process. The child leads a process group of its own, which end_group() of
// line_channel.h ends. Any thread.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"

namespace esper::base {

// A descriptor that the child has: a copy of one of ours.
struct ChildFile {
  int number = -1;  // the child's, below 10
  int ours = -1;
};

// What becomes of the child when the thread that started it ends, however that happens.
enum class ChildLifetime {
  kKilledWithParent,   // the kernel kills it
  kStoppedWithParent,  // the kernel sends it SIGTERM
  kOwn,                // nothing: it leads a session of its own
};

struct ChildPlan {
  std::vector<std::string> command;  // a program, looked up in PATH unless it has a slash, and its arguments; no shell
  std::vector<ChildFile> files;      // beside, or in place of, our standard ones; the child has no other
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value", all of it; nothing: this process's own
  std::string folder = {};                                   // that it starts in; empty: this process's own
  ChildLifetime lifetime = ChildLifetime::kKilledWithParent;
  Duration start_deadline = std::chrono::seconds(30);  // a program on a disk that is gone does not start
};

// Throws std::system_error with the reason where the program cannot be started; ETIMEDOUT where it does not in time.
pid_t start_child(const ChildPlan& plan);

// How a child ended, as waitpid(2) has it, at once when it ends; nothing: it is still there after `timeout`, or was
// waited for before.
std::optional<int> await_child(pid_t child, Duration timeout);

// Whether the child has ended by itself within `timeout`, at once when it has. It is not waited for: its end is still
// to be taken with await_child() or end_group().
bool ends_within(pid_t child, Duration timeout);

}  // namespace esper::base
