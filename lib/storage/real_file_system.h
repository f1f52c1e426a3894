#pragma once
// The FileSystem of a running process (POSIX calls). Interrupted calls are retried; descriptors are close-on-exec, so a
// lock does not outlive its process through a child that it started. Any thread.

#include "leyline/file_system.h"

namespace esper::storage {

// Stateless; one for the whole process.
leyline::FileSystem& real_file_system();

}  // namespace esper::storage
