#include "base/error.h"

#include <fmt/core.h>

namespace esper::base {

void fail_check(std::string_view condition, std::string_view message, std::string_view file, int line) {
  const auto name = file.substr(file.find_last_of('/') + 1);
  throw Error(ExitCode::kBug, fmt::format("bug at {}:{}: {} ({})", name, line, message, condition));
}

}  // namespace esper::base
