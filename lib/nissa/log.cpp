#include "nissa/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <memory>
#include <mutex>

#include "base/text/printable.h"
#include "base/text/text_outlet.h"

namespace esper::nissa::log {
namespace {

// spdlog's own sinks wait for as long as nobody reads standard error.
class OutletSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    base::standard_error().write({line.data(), line.size()});
  }
  void flush_() override {}
};

// Never destroyed: a thread that outlives main may still have something to report.
spdlog::logger& logger() {
  static auto* const instance = [] {
    auto* made = new spdlog::logger("esper", std::make_shared<OutletSink>());
    // On a terminal a message first clears the line, where a progress bar may stand.
    made->set_pattern(isatty(STDERR_FILENO) == 1 ? "\r\x1b[K%H:%M:%S %l: %v" : "%H:%M:%S %l: %v");
    return made;
  }();
  return *instance;
}

}  // namespace

void info(std::string_view text) { logger().info("{}", base::printable(text)); }
void warning(std::string_view text) { logger().warn("{}", base::printable(text)); }
void error(std::string_view text) { logger().error("{}", base::printable(text)); }

}  // namespace esper::nissa::log
