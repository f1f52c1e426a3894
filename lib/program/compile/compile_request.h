#pragma once
// Requests to the compile service, and its results.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/cache/compile_effort.h"

namespace esper::program {

// torch's settings in this process that the code of a program depends on; compiled under others it could compute by
// other rules than eager.
struct Numerics {
  bool deterministic = false;  // no sums whose order changes from run to run (atomic additions)
  bool tf32 = false;           // float32 products on a GPU may be computed in TF32
};

struct CompileRequest {
  std::string key;     // 32 hexadecimal digits (cache_key); names the entry in the cache
  std::string source;  // Python: INPUTS and step() over torch.ops.aten (program/python_text)
  std::string recipe = "default";
  std::string mode = "default";  // default | reduce-overhead | max-autotune
  int threads = 1;               // baked into the package
  CompileEffort effort = CompileEffort::kQuick;
};

enum class CompileFailure {
  kNoPython,      // there is none, it cannot be run, or it has no torch
  kWrongTorch,    // its torch is not the one that this process runs
  kNoCompiler,    // Python is there, a C++ compiler is not
  kFailed,        // the program could not be compiled; the reason has the compiler's message
  kTimeout,       // more than CompilerSettings::deadline or wall_deadline; the reason says which
  kOutOfMemory,   // more than CompilerSettings::memory_limit_mb
  kCrashed,       // the worker process died, and again after it was restarted
  kCancelled,     // cancel()
  kDiskFull,      // no space for the work or for the package
  kCacheRefused,  // compiled, but the cache did not take it
};
constexpr auto names(CompileFailure) {
  using F = CompileFailure;
  return std::array{std::pair{F::kNoPython, "no_python"},     std::pair{F::kWrongTorch, "wrong_torch"},
                    std::pair{F::kNoCompiler, "no_compiler"}, std::pair{F::kFailed, "failed"},
                    std::pair{F::kTimeout, "timeout"},        std::pair{F::kOutOfMemory, "out_of_memory"},
                    std::pair{F::kCrashed, "crashed"},        std::pair{F::kCancelled, "cancelled"},
                    std::pair{F::kDiskFull, "disk_full"},     std::pair{F::kCacheRefused, "cache_refused"}};
}

// Where the compiler is with the request at hand.
enum class CompileStage { kIdle, kOtherProcess, kWorkerStart, kCompiling, kHeaders };
constexpr auto names(CompileStage) {
  using S = CompileStage;
  return std::array{std::pair{S::kIdle, "the compiler"},
                    std::pair{S::kOtherProcess, "another process, which compiles this program"},
                    std::pair{S::kWorkerStart, "the compile worker to start"}, std::pair{S::kCompiling, "the compiler"},
                    std::pair{S::kHeaders, "the compiler's headers, which are precompiled once on this machine"}};
}

struct CompileOutcome {
  std::string key;
  CompileEffort effort = CompileEffort::kQuick;
  std::string recipe;
  bool by_other_process = false;           // which had it in the cache, at least as good, before this one
  double compile_ms = 0;                   // the worker's time for this program, its own start not counted
  std::map<std::string, double> stage_ms;  // export, generate, wrapper, kernel, link, package, ...
  std::vector<std::string> not_used;       // files kept from earlier compilations that this user's key did not make
  std::string compiler;                    // e.g. "clang++ -O0, g++ -O3"
  std::optional<CompileFailure> failure;   // none: PackageCache::find(key) has it
  std::string reason;                      // with a failure
};

// Done; what it took is not in it yet.
inline CompileOutcome outcome_of(const CompileRequest& request) {
  CompileOutcome outcome;
  outcome.key = request.key;
  outcome.effort = request.effort;
  outcome.recipe = request.recipe;
  return outcome;
}

inline CompileOutcome failed_outcome(const CompileRequest& request, CompileFailure failure, std::string reason) {
  CompileOutcome outcome = outcome_of(request);
  outcome.failure = failure;
  outcome.reason = std::move(reason);
  return outcome;
}

}  // namespace esper::program
