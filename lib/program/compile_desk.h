#pragma once
// Where the training thread asks for compiled programs: what they are called, whether the cache has them, who makes
// them. Training thread.

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leyline/config/step_config.h"
#include "leyline/file_system.h"
#include "program/cache/package_cache.h"
#include "program/compile/compiler.h"
#include "program/program.h"

namespace esper::program {

struct DeskSettings {
  leyline::CompileConfig compile;
  std::string python;         // executable whose torch is this process's
  std::string torch_version;  // of this process
  std::string device;         // "cpu", or kind and model of the accelerator: "cuda NVIDIA H100"
  int threads = 1;            // inside one operator
};

class CompileDesk {
 public:
  // files outlives the desk. Starts nothing. Where the cache's folder cannot be used, problem() says why.
  CompileDesk(leyline::FileSystem& files, DeskSettings settings, leyline::Clock clock = {});

  // Empty: programs can be asked for.
  const std::string& problem() const { return problem_; }

  leyline::CompileMode mode() const { return settings_.compile.mode; }

  std::string key(const Program& program, const std::string& recipe) const;
  // Lowerings that may suit the program, the most promising first; where they were compared before, the winner alone.
  std::vector<std::string> recipes(const Program& program);
  void remember_winner(const Program& program, const std::string& recipe, const std::map<std::string, double>& step_us);

  std::optional<CachedPackage> find(const std::string& key);
  void quarantine(const std::string& key, const std::string& reason);
  // It was put away by quarantine(), not for damage alone: compiling it again would make the same.
  bool has_erred(const std::string& key);

  void submit(const Program& program, const std::string& recipe, CompileEffort effort);
  void cancel(const std::string& key);
  // The outcome of that program, if there is one. Never blocks.
  std::optional<CompileOutcome> poll(const std::string& key);
  std::optional<CompileOutcome> wait(const std::string& key);  // at most the deadline of a compilation, and some
  int pending() const { return compiler_ ? compiler_->pending() : 0; }

 private:
  std::string choice_key(const Program& program) const { return key(program, ""); }

  DeskSettings settings_;
  std::string problem_;
  std::string instruction_set_;
  std::unique_ptr<PackageCache> cache_;
  std::unique_ptr<Compiler> compiler_;
  std::deque<CompileOutcome> outcomes_;
};

}  // namespace esper::program
