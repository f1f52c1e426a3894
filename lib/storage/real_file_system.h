#pragma once
// The FileSystem of a running process (POSIX calls). Interrupted calls are retried; descriptors are close-on-exec, so a
// lock does not outlive its process through a child that it started. Any thread.

#include "base/file_system.h"

namespace esper::storage {

// Stateless; one for the whole process.
base::FileSystem& real_file_system();

}  // namespace esper::storage
