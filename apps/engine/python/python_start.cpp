#include "engine/python/python_start.h"

#include <unistd.h>

extern char** environ;

namespace esper::engine {

PythonEnvironment::PythonEnvironment() {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("PYTHON")) entries_.emplace_back(*entry);
  }
  for (auto& entry : entries_) pointers_.push_back(entry.data());
  pointers_.push_back(nullptr);
}

}  // namespace esper::engine
