// The engine's one entry.

#include <cstdio>

#include "engine/commands.h"
#include "leyline/error.h"

namespace esper::engine {

void print_line(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

}  // namespace esper::engine

extern "C" int esper_engine_run(const esper::EngineRequest& request) {
  using esper::leyline::Error;
  if (request.command == "train") return esper::engine::train(request);
  if (request.command == "evaluate") return esper::engine::evaluate(request);
  if (request.command == "doctor") return esper::engine::doctor(request);
  throw Error(esper::leyline::ExitCode::kBug, "the engine has no command " + request.command);
}
