#include "device/facts.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

#include "base/gpu_present.h"
#include "base/memory_room.h"

namespace esper::device {
namespace {

// The value of the first "key : value" line of a file under /proc; empty where there is none.
std::string proc_value(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    if (line.find_first_not_of(" \t", key.size()) != colon) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

// "1234 kB" to bytes.
std::uint64_t proc_bytes(const char* path, std::string_view key) {
  std::uint64_t kilobytes = 0;
  std::istringstream(proc_value(path, key)) >> kilobytes;
  return kilobytes * 1024;
}

std::vector<std::string> known_instruction_sets(const std::string& flags) {
  constexpr std::array<std::string_view, 12> kKnown{"sse4_2",      "avx",      "avx2",        "fma",
                                                    "f16c",        "avx512f",  "avx512_bf16", "avx512_fp16",
                                                    "avx512_vnni", "amx_tile", "amx_bf16",    "amx_int8"};
  std::vector<std::string> found;
  std::istringstream words(flags);
  for (std::string word; words >> word;) {
    if (std::find(kKnown.begin(), kKnown.end(), word) != kKnown.end()) found.push_back(word);
  }
  return found;
}

// The second number of /proc/self/statm. Asked for after every epoch, so it takes the shortest way.
std::uint64_t resident_bytes() {
  char text[128] = {};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const ssize_t got = file >= 0 ? read(file, text, sizeof text - 1) : -1;
  if (file >= 0) close(file);
  unsigned long long pages = 0;
  return got > 0 && std::sscanf(text, "%*u %llu", &pages) == 1
             ? pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))
             : 0;
}

std::uint64_t total_bytes() {
  static const std::uint64_t total = proc_bytes("/proc/meminfo", "MemTotal");
  return total;
}

// At most a quarter of a second old: the kernel takes long to add it up.
std::uint64_t available_bytes() {
  static std::mutex mutex;
  static std::optional<std::chrono::steady_clock::time_point> read_at;
  static std::uint64_t available = 0;
  const std::scoped_lock lock(mutex);
  const auto now = std::chrono::steady_clock::now();
  if (!read_at || now - *read_at > std::chrono::milliseconds(250)) {
    available = static_cast<std::uint64_t>(base::memory_room(base::system_memory()).bytes);
    read_at = now;
  }
  return available;
}

// torch answers with a sentence; what matters ends before the build number.
std::string first_part(const std::string& text) {
  const auto end = std::min(text.find("-Product"), text.find(" (Git"));
  return text.substr(0, end);
}

}  // namespace

HostFacts host_facts() {
  constexpr const char* kCpu = "/proc/cpuinfo";
  constexpr const char* kMemory = "/proc/meminfo";
  HostFacts facts;
  facts.cpu_model = proc_value(kCpu, "model name");
  facts.logical_cores = static_cast<int>(std::thread::hardware_concurrency());
  facts.instruction_sets = known_instruction_sets(proc_value(kCpu, "flags"));
  facts.memory_total_bytes = proc_bytes(kMemory, "MemTotal");
  facts.memory_available_bytes = proc_bytes(kMemory, "MemAvailable");
  return facts;
}

TorchFacts torch_facts() {
  TorchFacts facts;
  facts.version = TORCH_VERSION;
  facts.blas = first_part(at::get_mkl_version());
  facts.onednn = first_part(at::get_mkldnn_version());
  facts.cpu_capability = at::get_cpu_capability();
  facts.intra_op_threads = at::get_num_threads();
  facts.inter_op_threads = static_cast<int>(at::get_num_interop_threads());
  return facts;
}

std::string numerics_of(c10::Device device) {
  auto text = fmt::format("libtorch {}, CPU kernels for {}, {} threads", TORCH_VERSION, at::get_cpu_capability(),
                          at::get_num_threads());
  if (device.is_cuda()) text += ", " + cuda().facts(device.index()).name;
  return text;
}

std::vector<GpuFacts> gpu_facts() {
  std::vector<GpuFacts> all;
  if (!base::gpu_present()) return all;
  const auto& table = *load_cuda().table;
  for (int index = 0; index < table.device_count(); ++index) all.push_back(table.facts(index));
  return all;
}

std::string pci_address_of(c10::Device device) {
  return device.is_cuda() ? cuda().facts(device.index()).pci_address : std::string();
}

MemoryFigures memory_figures(c10::Device device) {
  if (device.is_cuda()) return cuda().memory(device.index());
  MemoryFigures figures;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  figures.used_bytes = resident_bytes();
  // The kernel's record of the peak lags behind by some pages.
  figures.peak_bytes = std::max(figures.used_bytes, static_cast<std::uint64_t>(usage.ru_maxrss) * 1024);
  figures.reserved_bytes = figures.used_bytes;
  figures.free_bytes = available_bytes();
  figures.total_bytes = total_bytes();
  return figures;
}

}  // namespace esper::device
