// The engine's one entry.

#include <exception>
#include <variant>

#include "base/error.h"
#include "base/text/cerr_capture.h"
#include "device/failing_memory.h"
#include "engine/commands.h"
#include "engine/known_error.h"

extern "C" int esper_engine_run(const esper::EngineRequest& request) {
  esper::device::install_failing_allocator_if_armed();
  esper::base::route_cerr();
  try {
    return std::visit([](const auto& of_command) { return esper::engine::run(of_command); }, request);
  } catch (const esper::base::Error&) {
    throw;  // as the class that it is: a ConfigError has its problems
  } catch (const std::exception& error) {
    if (const auto known = esper::engine::known_error(error)) throw *known;
    throw;
  }
}
