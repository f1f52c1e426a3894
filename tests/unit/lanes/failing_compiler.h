#pragma once
// A compile service over an empty cache whose compiler has no Python: it fails at once, in this process, unless the
// cache has the package.

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>

#include "program/cache/compile_lock.h"
#include "program/compile_service.h"
#include "storage/bytes.h"
#include "support/environment_variable.h"
#include "support/temporary_folder.h"

namespace esper::tests {

struct FailingCompiler {
  test::TemporaryFolder folder;
  test::EnvironmentVariable state{"XDG_STATE_HOME", folder / "state"};  // where the user's key lies
  program::CompileService service{settings(), {folder / "programs", folder / "headers"}};

  FailingCompiler() {
    INFO(service.problem());
    REQUIRE(service.problem().empty());
  }

  static program::CompileServiceSettings settings() {
    program::CompileServiceSettings without_python;
    without_python.torch_version = "2";
    without_python.device = "cpu";
    return without_python;
  }

  // While it lives, the compiler waits as for another process that compiles the program.
  program::CompileLock hold(const std::string& key) const {
    auto lock = program::CompileLock::try_take(folder / "programs", key, program::CompileRank::kFull);
    REQUIRE(lock);
    return *std::move(lock);
  }

  // Another run has compiled the program with this effort.
  void stock(const std::string& key, const std::string& effort = "full") {
    program::PackageCache& cache = service.cache();
    const std::string path = cache.folder() + "/package";
    auto file = cache.files().open(path, base::OpenMode::kReplace);
    file.write(storage::bytes_of("a package"));
    file.close();
    const auto stored = cache.insert(key, path, {"default", effort, "2", "g++", 1000, ""});
    INFO(stored.reason);
    REQUIRE_FALSE(stored.failure);
  }
};

}  // namespace esper::tests
