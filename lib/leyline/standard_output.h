#pragma once
// The one way a command's result leaves the process. A result that could not be written is an error of the command.

#include <exception>
#include <string_view>

namespace esper::leyline {

// Whoever read our standard output has gone (`esper ... | head`). Nothing is said about it: the exit status of a
// process that SIGPIPE ended tells it.
class BrokenPipe : public std::exception {
 public:
  const char* what() const noexcept override { return "standard output is a pipe that nobody reads any more"; }
};
inline constexpr int kBrokenPipeStatus = 141;

// For the start of a process: a pipe without a reader (SIGPIPE) and a file at its size limit (SIGXFSZ) are errors of
// write() from then on, and standard streams that were closed are opened on nothing, so that no other file takes their
// place. Writing to such a standard output fails.
void keep_standard_streams();

// Writes and flushes. Throws BrokenPipe, and Error{kResources} where it cannot be written.
void write_output(std::string_view text);

}  // namespace esper::leyline
