#pragma once
// The one way a command's result leaves the process. A result that could not be written is an error of the command.

#include <exception>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace esper::base {

// The reader of our standard output has closed it (`esper ... | head`). Nothing is printed: the exit status of a
// process that SIGPIPE ended shows it.
class BrokenPipe : public std::exception {
 public:
  const char* what() const noexcept override { return "standard output is a pipe that was closed by its reader"; }
};
inline constexpr int kBrokenPipeStatus = 141;

// For the start of a process: a pipe without a reader (SIGPIPE) and a file at its size limit (SIGXFSZ) are errors of
// write() from then on, and standard streams that were closed are opened on nothing, so that no other file takes their
// place. Writing to such a standard output fails.
void keep_standard_streams();

// These wait for their reader as long as there is one, also where standard output is non-blocking. They throw
// BrokenPipe, and Error{kResources} where it cannot be written.

// Bytes as they are: for text that is known to be harmless.
void write_output(std::string_view text);
// For users: control characters are escaped (base/text/printable.h). write_text takes whole lines;
// write_line prints its text as one line.
void write_text(std::string_view text);
void write_line(std::string_view text);
// Two blanks of indentation and a newline at the end. Bytes that are no UTF-8 become U+FFFD, and what could steer a
// terminal a \u escape.
void write_json(const nlohmann::ordered_json& document);

// For a command that fails, or was interrupted: waits a second at most, and reports on standard error what is lost,
// unless the reader closed the pipe.
void write_output_in_time(std::string_view text);

// For a command that follows something: waits until one of the descriptors is readable (-1: none) or a signal came.
// Throws BrokenPipe once nobody can read its output any more.
void wait_until_readable(std::initializer_list<int> descriptors);

// What write_json() writes.
std::string json_text(const nlohmann::ordered_json& document);

}  // namespace esper::base
