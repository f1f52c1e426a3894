#include "program/compile_service.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/names.h"
#include "program/cache/cache_folder.h"
#include "program/cache/cache_key.h"
#include "program/cache/user_key.h"
#include "program/python_text.h"
#include "storage/confined_file_system.h"

namespace esper::program {
namespace {

// Products of fewer multiplications than this cost more to call than to compute.
constexpr std::int64_t kSmallProduct = 4096;

// From here on it may matter in which order a product's operands and its result lie.
constexpr std::int64_t kWideProduct = std::int64_t{1} << 22;

std::int64_t multiplications(const Program& program, const Operation& operation, std::size_t first) {
  const auto* a = std::get_if<TensorArgument>(&operation.arguments[first]);
  const auto* b = std::get_if<TensorArgument>(&operation.arguments[first + 1]);
  if (a == nullptr || b == nullptr) return 0;
  const auto& left = program.values[static_cast<std::size_t>(a->id)].sizes;
  const auto& right = program.values[static_cast<std::size_t>(b->id)].sizes;
  return left.size() == 2 && right.size() == 2 ? left[0] * left[1] * right[1] : 0;
}

bool has_small_product(const Program& program) {
  return std::ranges::any_of(program.operations, [&](const Operation& operation) {
    const bool biased = operation.name == "aten::addmm";
    if (!biased && operation.name != "aten::mm") return false;
    const std::int64_t size = multiplications(program, operation, biased ? 1 : 0);
    return size > 0 && size <= kSmallProduct;
  });
}

bool multiplies_in_bf16(const Program& program) {
  return std::ranges::any_of(program.operations, [&](const Operation& operation) {
    if (operation.name != "aten::mm" && operation.name != "aten::addmm") return false;
    const auto* a = std::get_if<TensorArgument>(&operation.arguments[0]);
    return a != nullptr && program.values[static_cast<std::size_t>(a->id)].dtype == c10::ScalarType::BFloat16;
  });
}

bool has_wide_layer(const Program& program) {
  return std::ranges::any_of(program.operations, [&](const Operation& operation) {
    return operation.name == "aten::addmm" && multiplications(program, operation, 1) >= kWideProduct;
  });
}

// Over the features of each sample: its loops want them side by side.
bool normalises_samples(const Program& program) {
  return std::ranges::any_of(program.operations,
                             [](const Operation& operation) { return operation.name == "aten::native_layer_norm"; });
}

bool pools_backward(const Program& program) {
  return std::ranges::any_of(program.operations, [](const Operation& operation) {
    return operation.name == "aten::max_pool2d_with_indices_backward";
  });
}

bool has_tiles(const std::string& instruction_set) { return instruction_set.find("amx_bf16") != std::string::npos; }

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

std::vector<std::string> CompileService::recipes(const SymbolicProgram& symbolic) {
  const Program& program = symbolic.program;
  const auto choice = cache_->choices().recall(choice_key(symbolic));
  if (choice && !found_wrong(key(symbolic, choice->recipe))) return {choice->recipe};
  if (settings_.device != "cpu") return {"default"};  // the other recipes were measured there
  if (pools_backward(program)) return {"aten_pool"};
  const bool may_turn = has_wide_layer(program) && !normalises_samples(program);
  if (multiplies_in_bf16(program)) {
    // A processor with tiles for bf16 is fast at its products; others are faster at float32's.
    if (has_tiles(instruction_set_)) return {"default"};
    return may_turn ? std::vector<std::string>{"single_turned", "single"}
                    : std::vector<std::string>{"single", "default"};
  }
  if (may_turn) return {"turned", "default"};
  if (has_small_product(program)) return {"loops", "default"};
  return {"default"};
}

void CompileService::remember_winner(const SymbolicProgram& program, const std::string& recipe,
                                     const std::map<std::string, double>& step_us) {
  cache_->choices().remember(choice_key(program), {recipe, step_us});
}

base::Expected<CachedPackage> CompileService::find(const std::string& key) { return cache_->find(key); }

void CompileService::quarantine(const std::string& key, EntryFault fault, const std::string& reason) {
  cache_->quarantine(key, fault, reason);
}

std::optional<std::string> CompileService::found_wrong(const std::string& key) {
  return cache_->quarantine_reason(key, EntryFault::kWrong);
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
