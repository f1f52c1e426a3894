#include "program/compile_service.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/names.h"
#include "program/cache/cache_folder.h"
#include "program/cache/cache_key.h"
#include "program/cache/user_key.h"
#include "program/promising_recipes.h"
#include "program/python_text.h"
#include "storage/confined_file_system.h"

namespace esper::program {
namespace {

// Triton compiles a kernel once for each way of tiling that it tries, one after the other.
constexpr int kCardFactor = 2;

// A compilation may take this many times its processor time: on a machine that others keep busy.
constexpr int kWallFactor = 10;
constexpr base::Duration kLongestDeadline = std::chrono::hours(1000);

// Empty for the CPU with none of them, as keys were before there were any.
std::string text_of(const Numerics& numerics, const std::string& device) {
  if (device == "cpu") return numerics.deterministic ? "deterministic" : "";
  return fmt::format("deterministic {}, tf32 {}", numerics.deterministic, numerics.tf32);
}

CompilerSettings compiler_settings(const CompileServiceSettings& settings, const CompileFolders& folders) {
  CompilerSettings result;
  result.python = settings.python;
  result.torch_version = settings.torch_version;
  result.device = settings.device.substr(0, settings.device.find(' '));
  result.card = settings.card;
  result.numerics = settings.numerics;
  const bool is_cpu = result.device == "cpu";
  result.deadline = (is_cpu ? 1 : kCardFactor) * std::min<base::Duration>(settings.compile.deadline, kLongestDeadline);
  result.wall_deadline = kWallFactor * result.deadline;
  result.priority = settings.priority;
  result.memory_limit_mb = settings.compile.memory_limit_mb;
  result.headers_dir = folders.headers;
  result.end_deadline = settings.end_deadline;
  return result;
}

}  // namespace

CompileService::CompileService(CompileServiceSettings settings, const CompileFolders& folders, base::Clock clock)
    : settings_(std::move(settings)), instruction_set_(cpu_instruction_set()) {
  const auto folder = private_cache_folder(folders.cache);
  problem_ = folder.error_or("");
  if (!folder) return;
  files_ = std::make_unique<storage::ConfinedFileSystem>(*folder, storage::Owner::kThisUser);
  problem_ = check_below(*files_, *folder).error_or("");
  if (!problem_.empty()) return;
  const auto key = user_key();
  problem_ = key.error_or("");
  if (!key) return;
  CacheSettings cache;
  cache.folder = *folder;
  cache.limit_bytes = static_cast<std::uint64_t>(settings_.compile.cache_limit_mb) << 20;
  cache.mac_key = *key;
  cache_ = std::make_unique<PackageCache>(*files_, cache, clock);
  compiler_ = std::make_unique<Compiler>(compiler_settings(settings_, folders), *cache_);
}

std::string CompileService::key(const SymbolicProgram& program, const std::string& recipe) const {
  KeyParts parts;
  parts.program = save_symbolic(program);
  parts.torch_version = settings_.torch_version;
  parts.device = settings_.device;
  parts.instruction_set = instruction_set_;
  parts.numerics = text_of(settings_.numerics, settings_.device);
  parts.threads = settings_.threads;
  parts.mode = base::name_of(settings_.compile.mode);
  parts.recipe = recipe;
  return cache_key(parts);
}

std::vector<std::string> CompileService::recipes(const SymbolicProgram& program) {
  const auto choice = cache_->choices().recall(key(program, ""));
  if (choice && !cache_->why_unusable(key(program, choice->recipe))) return {choice->recipe};
  return promising_recipes(program.program, settings_.device, instruction_set_);
}

void CompileService::remember_winner(const SymbolicProgram& program, const std::string& recipe,
                                     const std::map<std::string, double>& step_us) {
  cache_->choices().remember(key(program, ""), {recipe, step_us});
}

void CompileService::submit(const SymbolicProgram& program, const std::string& recipe, CompileEffort effort) {
  CompileRequest request;
  request.key = key(program, recipe);
  request.source = python_text(program);
  request.recipe = recipe;
  request.mode = base::name_of(settings_.compile.mode);
  request.threads = settings_.threads;
  request.effort = effort;
  compiler_->submit(std::move(request));
}

base::Duration CompileService::longest_wait() const {
  const CompilerSettings settings = compiler_settings(settings_, {});
  // For another process's compilation and for its own, and for a worker that died under it and was started again.
  return 2 * (settings.wall_deadline + settings.start_deadline);
}

void CompileService::cancel(const std::string& key) { compiler_->cancel(key); }

std::optional<CompileOutcome> CompileService::poll(const std::string& key) { return compiler_->poll(key); }

std::optional<CompileOutcome> CompileService::wait(const std::string& key, base::Duration longest) {
  return compiler_->wait(key, longest);
}

}  // namespace esper::program
