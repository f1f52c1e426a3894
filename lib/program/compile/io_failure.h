#pragma once
// What a compilation's outcome says where a file of the cache or of its worker cannot be used. Any thread.

#include <string>

#include "base/file_system.h"
#include "program/compile/compile_request.h"

namespace esper::program {

struct IoFailure {
  CompileFailure failure;
  std::string reason;  // with the way out
};

IoFailure io_failure(const base::IoError& error);

}  // namespace esper::program
