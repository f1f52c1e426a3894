#pragma once
// The Python that compiles steps, found as the binary finds it.

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string>

#include "support/process.h"

namespace esper::test {

inline std::string python_path() {
  const char* named = std::getenv("ESPER_PYTHON");
  return named != nullptr && *named != '\0' ? named : ESPER_SOURCE_DIR "/.esper/python/bin/python";
}

// Skips the test, visibly, where nothing can be compiled.
inline void need_python_with_torch() {
  static const int answer = run_program({python_path(), "-I", "-c",
                                         "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"})
                                .exit_code;
  if (answer != 0) SKIP("no Python with torch at " + python_path() + ": nothing can be compiled");
}

}  // namespace esper::test
