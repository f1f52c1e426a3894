#pragma once
// Log files of bounded size: LOG is the newest, LOG.1 the one before it, up to LOG.3. Any thread.

#include <cstdint>
#include <string>

#include "base/expected.h"

namespace esper::jobs {

inline constexpr int kEarlierLogs = 3;

// Where the file has at least `max_bytes`, it becomes LOG.1 and those before it move on; the oldest goes. Nothing is
// there under LOG then. Whether that happened; fails where files cannot be renamed. A process that has the file open
// keeps writing to it under its new name.
base::Expected<bool> rotate_log(const std::string& path, std::int64_t max_bytes);

// The same for the file that is this process's standard error: a new one takes its place, and that of standard output
// where it was the same. Nothing happens where standard error is another file.
base::Expected<bool> rotate_own_log(const std::string& path, std::int64_t max_bytes);

}  // namespace esper::jobs
