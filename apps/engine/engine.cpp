// The engine's one entry.

#include <c10/util/Exception.h>

#include <exception>
#include <variant>

#include "base/error.h"
#include "device/failing_memory.h"
#include "device/out_of_memory.h"
#include "engine/commands.h"

extern "C" int esper_engine_run(const esper::EngineRequest& request) {
  using esper::base::Error;
  using esper::base::ExitCode;
  constexpr char kWayOut[] = "; use a smaller host or data.batch_size";
  esper::device::install_failing_allocator_if_armed();
  try {
    return std::visit([](const auto& of_command) { return esper::engine::run(of_command); }, request);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (const std::string lack = esper::device::out_of_memory_message(error); !lack.empty()) {
      throw Error(ExitCode::kResources, lack + kWayOut);
    }
    const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
    if (of_torch == nullptr) throw;
    throw Error(ExitCode::kBug, of_torch->what_without_backtrace());
  }
}
