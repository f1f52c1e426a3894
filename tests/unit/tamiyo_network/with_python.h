#pragma once
// A compile service as a run has it, with the repository's Python.

#include "program/compile_service.h"

namespace esper::test {

inline program::CompileServiceSettings with_python() {
  program::CompileServiceSettings settings;
  settings.python = ESPER_SOURCE_DIR "/.esper/python/bin/python";
  settings.torch_version = ESPER_LIBTORCH;
  settings.device = "cpu";
  settings.compile.deadline = std::chrono::minutes(20);
  return settings;
}

}  // namespace esper::test
