#include "nissa/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>

namespace esper::nissa::log {
namespace {

// Never destroyed: a thread that outlives main may still have something to say.
spdlog::logger& logger() {
  static auto* const instance = [] {
    auto* made = new spdlog::logger("esper", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    // On a terminal a message first clears the line, where a progress bar may stand.
    made->set_pattern(isatty(STDERR_FILENO) == 1 ? "\r\x1b[K%H:%M:%S %l: %v" : "%H:%M:%S %l: %v");
    return made;
  }();
  return *instance;
}

}  // namespace

void info(std::string_view text) { logger().info("{}", text); }
void warning(std::string_view text) { logger().warn("{}", text); }
void error(std::string_view text) { logger().error("{}", text); }

}  // namespace esper::nissa::log
