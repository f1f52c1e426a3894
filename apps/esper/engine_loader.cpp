#include "esper/engine_loader.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <variant>

#include "base/error.h"

namespace esper {
namespace {

using base::Error;
using base::ExitCode;

std::filesystem::path engine_path() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error(ExitCode::kBug, "cannot find this program's own file: /proc/self/exe: " + error.message());
  return (self.parent_path() / ".." / "lib" / "libesper_engine.so").lexically_normal();
}

std::string command_of(const EngineRequest& request) {
  return std::visit([](const auto& of_command) { return of_command.kCommand; }, request);
}

}  // namespace

int run_in_engine(const EngineRequest& request) {
  const std::filesystem::path path = engine_path();
  if (!std::filesystem::exists(path)) {
    throw Error(ExitCode::kResources, "the engine is missing: " + path.string() + " does not exist; `esper " +
                                          command_of(request) +
                                          "` needs a build with libtorch (scripts/esper builds it)");
  }
  // Read by the OpenMP runtime when it is loaded. Its threads would otherwise spin between operators, which on a
  // machine with other work slows a run tens of times (docs/decisions/0008). The user's own setting stands.
  setenv("OMP_WAIT_POLICY", "PASSIVE", /*overwrite=*/0);
  // Never unloaded: libtorch keeps threads and thread-local state until the process ends.
  void* engine = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (engine == nullptr) {
    throw Error(ExitCode::kResources, std::string("cannot load the engine: ") + dlerror() +
                                          "; build again (scripts/esper); if libtorch was moved or removed, put it "
                                          "back (scripts/bootstrap)");
  }
  const auto run = reinterpret_cast<decltype(&esper_engine_run)>(dlsym(engine, "esper_engine_run"));
  if (run == nullptr) throw Error(ExitCode::kBug, std::string("the engine has another version: ") + dlerror());
  return run(request);
}

}  // namespace esper
