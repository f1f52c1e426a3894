#pragma once
// What only CUDA's own headers can say, as a table of plain functions. There are two tables: the module
// libesper_cuda.so has one that works; no_cuda/ has one whose functions refuse. Streams, events, generators and pinned
// memory need no entry: once the module is loaded, c10 and ATen offer them for any device.

#include <c10/core/Stream.h>

#include <string>

#include "device/memory_figures.h"

namespace esper::device {

struct GpuFacts {
  std::string name;
  int capability_major = 0;
  int capability_minor = 0;
  int multiprocessors = 0;
  int driver_version = 0;   // 13000 means CUDA 13.0
  int runtime_version = 0;  // likewise
  std::uint64_t memory_total_bytes = 0;
  std::uint64_t memory_free_bytes = 0;
};

// `index` counts the visible cards from 0; one out of range throws c10::Error. Any thread.
struct CudaTable {
  int (*device_count)();  // 0 where there is no driver; never throws
  GpuFacts (*facts)(int index);
  MemoryFigures (*memory)(int index);
  void (*synchronize)(int index);         // waits for everything queued on the card
  c10::Stream (*side_stream)(int index);  // a stream of high priority out of torch's pool
};

// Raised with every change of CudaTable or of what it returns, so that a module of another build is refused.
constexpr int kCudaTableVersion = 1;
constexpr const char* kCudaModuleEntry = "esper_cuda_table";
using CudaModuleEntry = const CudaTable* (*)(int version);  // null: another version

struct CudaModule {
  const CudaTable* table;  // never null
  std::string reason;      // empty: loaded; else why not, and what to do
};

// True where the driver has made its device files; loads nothing. `root` is "" but in tests.
bool gpu_present(const std::string& root = "");

// Loads the module and with it libtorch_cuda (about 100 ms), once per process; later calls return the same answer.
// Must come before anything asks torch about CUDA or seeds it: torch caches the answer "no CUDA". Any thread.
const CudaModule& load_cuda();

// The module's table if load_cuda() has succeeded, else the one that refuses. Loads nothing. Any thread.
const CudaTable& cuda();
bool cuda_loaded();

// The calling thread's current stream on that card.
c10::Stream current_stream(c10::Device device);

// The table of no_cuda/: no devices; everything else throws leyline::Error{kResources}.
const CudaTable& refusing_cuda_table();

}  // namespace esper::device
