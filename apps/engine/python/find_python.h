#pragma once
// The Python that could compile training steps: needed for that alone, never for training.

#include <string>

namespace esper::engine {

struct PythonFacts {
  std::string path;     // empty: none found
  std::string version;  // "3.11.7"
  bool has_torch = false;
  std::string problem;  // why it cannot compile, and the remedy
};

// The Python that is taken, by path alone: $ESPER_PYTHON, else that of this checkout's private environment. Empty if
// there is no such file. Starts nothing.
std::string python_candidate();

// ESPER_PYTHON, else the private environment of this checkout. Starts it once, without a shell, for at most 10 s.
PythonFacts find_python();

}  // namespace esper::engine
