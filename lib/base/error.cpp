#include "base/error.h"

namespace esper::base {

void fail_check(std::string_view condition, std::string_view message, std::string_view file, int line) {
  const auto name = file.substr(file.find_last_of('/') + 1);
  throw Error(ExitCode::kBug, "bug at " + std::string(name) + ":" + std::to_string(line) + ": " + std::string(message) +
                                  " (" + std::string(condition) + ")");
}

}  // namespace esper::base
