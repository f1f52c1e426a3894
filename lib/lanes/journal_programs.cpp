#include "lanes/journal_programs.h"

#include <utility>

#include "base/names.h"
#include "lanes/lane/recording.h"

namespace esper::lanes {

base::Expected<void> JournalPrograms::record(StepShape& shape, Batch microbatches) const {
  if (shape.program) return {};
  auto recorded = record_undone(context_.model, microbatches, context_.forward);
  if (!recorded) return base::failure(recorded.error());
  shape.program = std::move(*recorded);
  return {};
}

base::Expected<Lane> JournalPrograms::lane_of(StepShape& shape, const std::string& key, Batch microbatches) {
  const PreparationTime preparing(context_);
  if (!context_.can_compile()) return base::failure("compiled programs are not available");
  if (auto recorded = record(shape, microbatches); !recorded) return base::failure(recorded.error());
  const auto cached = package_of(shape, key, microbatches);
  if (!cached) return base::failure(cached.error());
  program::CompileService& compile_service = *context_.services.compile_service;
  const auto is_its_own = [&] { return compile_service.key(shape.to_compile(), cached->facts.recipe) == key; };
  if (!is_its_own()) groups_.join(shape, microbatches);  // it may be a program for all batch sizes
  if (!is_its_own()) {
    if (!context_.config.compile.dynamic) shape.group = nullptr;
    return base::failure("the step is not that program");
  }
  const LaneProgram source{shape.to_compile(), PackageFile{cached->file.path(), key, cached->mac}};
  auto lane =
      make_lane(*context_.kind(config::Lane::kCompiled), source, context_.model, microbatches, context_.setup());
  if (!lane) return base::failure(lane.error().reason);
  return std::move(*lane);
}

base::Expected<program::CachedPackage> JournalPrograms::package_of(StepShape& shape, const std::string& key,
                                                                   Batch microbatches) {
  program::PackageCache& cache = context_.services.compile_service->cache();
  if (const auto why = cache.why_unusable(key)) {
    return base::failure("the compiled program " + key + " was quarantined: " + *why);
  }
  auto cached = cache.find(key);
  const std::string damage = cached.error_or("");
  if (!damage.empty()) failures_.report_damaged(damage);
  if (context_.config.lane == config::Lane::kCompiled && !cached) {
    compile_again(shape, key, microbatches);
    cached = cache.find(key);
  }
  if (!cached && !damage.empty()) return base::failure(damage);
  if (!cached) return base::failure("the cache no longer has the compiled program " + key);
  return cached;
}

// The earlier process was stopped while it waited for the program, or the cache was emptied since. Compiles the program
// if one of the step's recipes has that key.
void JournalPrograms::compile_again(StepShape& shape, const std::string& key, Batch microbatches) {
  if (context_.config.compile.dynamic) groups_.join(shape, microbatches);
  program::CompileService& compile_service = *context_.services.compile_service;
  for (const std::string& recipe : compile_service.recipes(shape.to_compile())) {
    if (compile_service.key(shape.to_compile(), recipe) != key) continue;
    const Variant variant{recipe, program::CompileEffort::kFull, key};
    if (queue_.start(shape.to_compile(), variant)) ++context_.figures.cache_misses;
    const auto [end, outcome] = queue_.wait(key);
    if (outcome && outcome->failure) {
      failures_.report_no_compiler(std::string(base::name_of(*outcome->failure)), outcome->reason);
    }
    if (end == CompileWait::End::kLate) failures_.report_no_compiler("timeout", "the compiler did not finish in time");
    return;
  }
}

}  // namespace esper::lanes
