// The engine's one entry.

#include <c10/util/Exception.h>

#include <exception>

#include "base/error.h"
#include "device/out_of_memory.h"
#include "engine/commands.h"

namespace {

int run_command(const esper::EngineRequest& request) {
  using esper::base::Error;
  if (request.command == "train") return esper::engine::train(request);
  if (request.command == "evaluate") return esper::engine::evaluate(request);
  if (request.command == "fork") return esper::engine::fork_run(request);
  if (request.command == "doctor") return esper::engine::doctor(request);
  if (request.command == "bench") return esper::engine::run_bench(request);
  if (request.command == "baseline save") return esper::engine::save_baseline(request);
  if (request.command == "baseline check") return esper::engine::check_baseline(request);
  throw Error(esper::base::ExitCode::kBug, "the engine has no command " + request.command);
}

}  // namespace

extern "C" int esper_engine_run(const esper::EngineRequest& request) {
  using esper::base::Error;
  using esper::base::ExitCode;
  constexpr char kWayOut[] = "; take a smaller host or data.batch_size";
  try {
    return run_command(request);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (const std::string lack = esper::device::lack_of_memory(error); !lack.empty()) {
      throw Error(ExitCode::kResources, lack + kWayOut);
    }
    const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
    if (of_torch == nullptr) throw;
    throw Error(ExitCode::kBug, of_torch->what_without_backtrace());
  }
}
