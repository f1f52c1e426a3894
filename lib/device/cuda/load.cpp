#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <vector>

#include "device/cuda_table.h"

namespace esper::device {
namespace {

std::atomic<const CudaTable*> loaded_table{nullptr};

// The module lies beside the engine, or in lib/ beside the programs' bin/.
std::vector<std::filesystem::path> candidates() {
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&load_cuda), &here) == 0 || here.dli_fname == nullptr) return {};
  std::error_code ignored;
  const auto file = std::filesystem::canonical(here.dli_fname, ignored);
  const auto folder = file.parent_path();
  return {folder / "libesper_cuda.so", folder.parent_path() / "lib" / "libesper_cuda.so"};
}

CudaModule refused(const std::string& reason) { return {&unavailable_cuda_table(), reason}; }

// RTLD_GLOBAL because libtorch_cuda's registrations must be the ones that libtorch_cpu sees.
CudaModule open_module() {
  for (const auto& path : candidates()) {
    if (!std::filesystem::exists(path)) continue;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) return refused(std::string("cannot load the CUDA module: ") + dlerror());
    const auto entry = reinterpret_cast<CudaModuleEntry>(dlsym(handle, kCudaModuleEntry));
    const CudaTable* table = entry == nullptr ? nullptr : entry(kCudaTableVersion);
    if (table == nullptr) return refused(path.string() + " belongs to another build; build again");
    loaded_table.store(table, std::memory_order_release);
    return {table, ""};
  }
  return refused("libesper_cuda.so is missing in the engine's folder; build again");
}

}  // namespace

const CudaModule& load_cuda() {
  static const CudaModule module = open_module();
  return module;
}

const CudaTable& cuda() {
  const CudaTable* table = loaded_table.load(std::memory_order_acquire);
  return table != nullptr ? *table : unavailable_cuda_table();
}

bool cuda_loaded() { return loaded_table.load(std::memory_order_acquire) != nullptr; }

}  // namespace esper::device
