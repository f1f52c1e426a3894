#pragma once
// Text files that a user names: run files, and what they extend. Any thread.

#include <cstddef>
#include <string>

#include "base/expected.h"
#include "base/quantity.h"

namespace esper::base {

// Pipes and terminals: never, or where the path is /dev/stdin or a descriptor of this process (/dev/fd/N, as the shell
// passes `<(command)`).
enum class Streams { kRefused, kOfThisProcess };

// Reads at most max_bytes + 1 bytes: more means that the file is too large. Never waits for a writer to open a named
// pipe; all of a stream has to arrive within `deadline`. A reason is like "cannot be opened: Permission denied".
Expected<std::string> read_text_file(const std::string& path, std::size_t max_bytes, Streams streams,
                                     Duration deadline = std::chrono::seconds(10));

}  // namespace esper::base
