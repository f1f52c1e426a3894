#pragma once
// Functions that need CUDA's headers, as a table. There are two tables: the module
// libesper_cuda.so has one that works; no_cuda/ has one whose functions refuse. Streams, events, generators and pinned
// memory need no entry: once the module is loaded, c10 and ATen offer them for any device.

#include <c10/core/Stream.h>

#include <string>

#include "device/memory_figures.h"

namespace esper::device {

struct GpuFacts {
  std::string name;
  std::string pci_address;  // "0000:3b:00.0"
  int capability_major = 0;
  int capability_minor = 0;
  int driver_version = 0;   // 13000 means CUDA 13.0
  int runtime_version = 0;  // likewise
  std::uint64_t memory_total_bytes = 0;
  std::uint64_t memory_free_bytes = 0;
};

// Memory that captured graphs share: at::cuda::MempoolId_t, distinguished from torch's others by its numbers.
struct GraphPool {
  std::uint64_t first = 0, second = 0;
};
struct CudaGraph;  // at::cuda::CUDAGraph with what its end needs, known to the module alone

// What torch does when the host is about to wait for the GPU (torch.cuda.set_sync_debug_mode).
enum class HostWaits { kAllowed, kRefused };

// `index` counts the visible GPUs from 0; one out of range throws c10::Error. Any thread.
struct CudaTable {
  int (*device_count)();  // 0 where there is no driver; never throws
  GpuFacts (*facts)(int index);
  MemoryFigures (*memory)(int index);
  void (*synchronize)(int index);  // waits for everything queued on the GPU
  // Gives what torch's allocator only caches, for whatever stream, back to the GPU. Waits for it; not while a graph is
  // captured.
  void (*empty_cache)(int index);
  c10::Stream (*side_stream)(int index);  // a stream of high priority out of torch's pool
  void (*set_device)(int index);          // of the calling thread: "cuda" without an index then means this GPU

  // Graphs. begin, end and replay work on the calling thread's current stream, which for begin is not the default one;
  // the calling thread alone may not wait or allocate outside of the pool while a capture lasts. The GPU's default
  // generator belongs to every graph: each replay draws on from where the generator stands, and moves it on.
  GraphPool (*graph_pool)();
  // Gives the memory of a pool that no graph uses any more back to the GPU. Such a pool cannot be used again.
  void (*graph_pool_free)(int index, GraphPool pool);
  CudaGraph* (*graph_create)(int index, GraphPool pool);
  void (*graph_begin)(CudaGraph* graph);
  void (*graph_end)(CudaGraph* graph);  // instantiates; throws c10::Error where the capture was invalid
  void (*graph_replay)(CudaGraph* graph);
  // In any state, also in the middle of a capture that failed: the stream and the allocator are then as before. Throws
  // nothing. The GPU has finished the graph's last replay.
  void (*graph_destroy)(CudaGraph* graph);

  void (*set_host_waits)(HostWaits waits);  // refused: a wait throws c10::Error. For tests; of the whole process.

  // NVTX ranges of the calling thread; nothing but a few nanoseconds without a profiler.
  void (*range_push)(const char* name);
  void (*range_pop)();
};

// Raised with every change of CudaTable or of what it returns, so that a module of another build is refused.
constexpr int kCudaTableVersion = 6;
constexpr const char* kCudaModuleEntry = "esper_cuda_table";
using CudaModuleEntry = const CudaTable* (*)(int version);  // null: another version

struct CudaModule {
  const CudaTable* table;  // never null
  std::string reason;      // empty: loaded; else why not, and what to do
};

// Loads the module and with it libtorch_cuda (about 100 ms), once per process; later calls return the same answer.
// Must come before anything asks torch about CUDA or seeds it: torch caches the answer "no CUDA". Any thread.
const CudaModule& load_cuda();

// The module's table if load_cuda() has succeeded, else the one without CUDA. Loads nothing. Any thread.
const CudaTable& cuda();
bool cuda_loaded();

// The calling thread's current stream on that GPU.
c10::Stream current_stream(c10::Device device);

// The table of no_cuda/: no devices; everything else throws base::Error{kResources}.
const CudaTable& unavailable_cuda_table();

}  // namespace esper::device
