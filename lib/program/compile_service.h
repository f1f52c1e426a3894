#pragma once
// The training thread's interface to compiled programs: their keys and recipes under the settings of the run, the cache
// that has them, and the compiler. Training thread.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "config/step_config.h"
#include "program/cache/package_cache.h"
#include "program/compile/compiler.h"
#include "program/symbolic.h"

namespace esper::program {

struct CompileServiceSettings {
  config::CompileConfig compile;
  std::string python;         // executable whose torch is this process's
  std::string torch_version;  // of this process
  std::string device;         // "cpu", or kind and model of the accelerator: "cuda NVIDIA H100"
  int card = 0;               // which accelerator, as this process counts them
  Numerics numerics{};
  int threads = 1;  // inside one operator
  WorkerPriority priority = WorkerPriority::kNormal;
  base::Duration end_deadline = CompilerSettings().end_deadline;
};

struct CompileFolders {
  std::string cache;    // as private_cache_folder() takes it
  std::string headers;  // as CompilerSettings::headers_dir
};

class CompileService {
 public:
  // Starts nothing. Where the cache's folder, one below it or the user's key cannot be used, problem() says why.
  CompileService(CompileServiceSettings settings, const CompileFolders& folders, base::Clock clock = {});

  // Empty: programs can be requested.
  const std::string& problem() const { return problem_; }

  // Of this run's packages and of earlier ones', and what was found wrong with them. problem() is empty.
  PackageCache& cache() { return *cache_; }

  // Whether a program is to serve every batch size.
  bool is_dynamic() const { return settings_.compile.dynamic; }

  std::string key(const SymbolicProgram& program, const std::string& recipe) const;
  // promising_recipes(); where they were compared before, the winner alone.
  std::vector<std::string> recipes(const SymbolicProgram& program);
  void remember_winner(const SymbolicProgram& program, const std::string& recipe,
                       const std::map<std::string, double>& step_us);

  void submit(const SymbolicProgram& program, const std::string& recipe, CompileEffort effort);
  void cancel(const std::string& key);
  // The outcome of that program, if there is one. Never blocks.
  std::optional<CompileOutcome> poll(const std::string& key);
  std::optional<CompileOutcome> wait(const std::string& key, base::Duration longest);
  std::optional<CompileOutcome> wait(const std::string& key) { return wait(key, longest_wait()); }
  // What the compiler waits for, or does.
  CompileStage stage() const { return compiler_->stage(); }
  // Longer than the compiler takes to come to an outcome, whatever happens.
  base::Duration longest_wait() const;

 private:
  CompileServiceSettings settings_;
  std::string problem_;
  std::string instruction_set_;
  std::unique_ptr<base::FileSystem> files_;  // the cache's
  std::unique_ptr<PackageCache> cache_;
  std::unique_ptr<Compiler> compiler_;
};

}  // namespace esper::program
