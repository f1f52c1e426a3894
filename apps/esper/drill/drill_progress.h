#pragma once
// What a command that trains in child processes is doing, on standard error: one line drawn again and again where that
// is a terminal, elsewhere a plain line each time.

#include <string>

namespace esper {

void show_drill_progress(const std::string& command, const std::string& text);
// Takes the terminal's line away at its end, before anything else is printed.
struct DrillProgress {
  DrillProgress() = default;
  ~DrillProgress() { end(); }
  DrillProgress(const DrillProgress&) = delete;
  DrillProgress& operator=(const DrillProgress&) = delete;
  void end() const;
};

// Throws Error{kConfig} where no regular file can be made, or replaced, there: before hours of training rather than
// after them.
void refuse_unwritable(const std::string& file);

}  // namespace esper
