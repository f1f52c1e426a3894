// The engine's one entry.

#include <c10/util/Exception.h>

#include <new>
#include <string_view>

#include "engine/commands.h"
#include "leyline/error.h"
#include "leyline/standard_output.h"

namespace esper::engine {

void print_line(const std::string& text) { leyline::write_output(text + "\n"); }

}  // namespace esper::engine

namespace {

int run_command(const esper::EngineRequest& request) {
  using esper::leyline::Error;
  if (request.command == "train") return esper::engine::train(request);
  if (request.command == "evaluate") return esper::engine::evaluate(request);
  if (request.command == "doctor") return esper::engine::doctor(request);
  if (request.command == "bench") return esper::engine::run_bench(request);
  if (request.command == "baseline save") return esper::engine::save_baseline(request);
  if (request.command == "baseline check") return esper::engine::check_baseline(request);
  throw Error(esper::leyline::ExitCode::kBug, "the engine has no command " + request.command);
}

bool is_lack_of_memory(const c10::Error& error) {
  const std::string_view text = error.what_without_backtrace();
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr || text.find("allocate memory") != text.npos;
}

}  // namespace

extern "C" int esper_engine_run(const esper::EngineRequest& request) {
  using esper::leyline::Error;
  using esper::leyline::ExitCode;
  constexpr char kWayOut[] = "; take a smaller host or data.batch_size";
  try {
    return run_command(request);
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    if (is_lack_of_memory(error)) throw Error(ExitCode::kResources, "out of memory: " + text + kWayOut);
    throw Error(ExitCode::kBug, text);
  } catch (const std::bad_alloc&) {
    throw Error(ExitCode::kResources, std::string("out of memory") + kWayOut);
  }
}
