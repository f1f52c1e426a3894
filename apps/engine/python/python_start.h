#pragma once
// How a Python is started that is to run our program and nothing of the folder that the user stands in: with -I (which
// leaves that folder, the user's own packages and PYTHON* variables out), in kNeutralFolder, and without those
// variables.

#include <string>
#include <vector>

namespace esper::engine {

inline constexpr char kNeutralFolder[] = "/";

// This process's environment without the variables that begin with PYTHON: also for what that Python starts.
class PythonEnvironment {
 public:
  PythonEnvironment();
  // For exec and posix_spawn, while the object lives.
  char** pointers() { return pointers_.data(); }

 private:
  std::vector<std::string> entries_;
  std::vector<char*> pointers_;
};

}  // namespace esper::engine
