// libesper_cuda.so: the table that works. Linking it pulls in libtorch_cuda, which registers CUDA with torch when it is
// loaded.
#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <array>

#include "device/cuda_table.h"

namespace esper::device {

// What torch keeps of a capture, and needs to be set right after one that failed.
class TorchGraph : public at::cuda::CUDAGraph {
 public:
  bool capture_ended() const { return capture_ended_; }
  // As capture_epilogue() leaves it. Until then each draw outside of a capture throws.
  void end_captured_draws() {
    for (auto& [state, increment] : captured_generator_states_) state->capturing_ = false;
  }
};

struct CudaGraph {
  c10::cuda::CUDAStream stream;  // where it is captured
  at::cuda::MempoolId_t pool;
  TorchGraph graph;
  bool capturing = false;
};

namespace {

int device_count() { return c10::cuda::device_count(); }

c10::DeviceIndex checked(int index) {
  TORCH_CHECK(index >= 0 && index < device_count(), "no CUDA device ", index, "; this process sees ", device_count());
  return static_cast<c10::DeviceIndex>(index);
}

void read_card_memory(int index, std::uint64_t& free_bytes, std::uint64_t& total_bytes) {
  const c10::cuda::CUDAGuard guard(checked(index));
  std::size_t free = 0;
  std::size_t total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  free_bytes = free;
  total_bytes = total;
}

GpuFacts facts(int index) {
  cudaDeviceProp properties{};
  C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, checked(index)));
  std::array<char, 32> address{};
  C10_CUDA_CHECK(cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), index));
  GpuFacts out;
  out.pci_address = address.data();
  out.name = properties.name;
  out.capability_major = properties.major;
  out.capability_minor = properties.minor;
  C10_CUDA_CHECK(cudaDriverGetVersion(&out.driver_version));
  C10_CUDA_CHECK(cudaRuntimeGetVersion(&out.runtime_version));
  out.memory_total_bytes = properties.totalGlobalMem;
  try {
    read_card_memory(index, out.memory_free_bytes, out.memory_total_bytes);
  } catch (const c10::AcceleratorError& error) {  // the question itself takes memory there
    if (error.get_error_code() != cudaErrorMemoryAllocation) throw;
    cudaGetLastError();
  }
  return out;
}

// The allocator's figures exist only after torch has set CUDA up.
MemoryFigures memory(int index) {
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(checked(index));
  MemoryFigures out;
  out.used_bytes = static_cast<std::uint64_t>(stats.allocated_bytes[kAll].current);
  out.peak_bytes = static_cast<std::uint64_t>(stats.allocated_bytes[kAll].peak);
  out.reserved_bytes = static_cast<std::uint64_t>(stats.reserved_bytes[kAll].current);
  out.allocations = static_cast<std::uint64_t>(stats.allocation[kAll].allocated);
  read_card_memory(index, out.free_bytes, out.total_bytes);
  return out;
}

void synchronize(int index) {
  const c10::cuda::CUDAGuard guard(checked(index));
  c10::cuda::device_synchronize();
}

void empty_cache(int index) {
  const c10::cuda::CUDAGuard guard(checked(index));
  c10::cuda::CUDACachingAllocator::emptyCache();
}

c10::Stream side_stream(int index) {
  constexpr bool kHighPriority = true;
  return c10::cuda::getStreamFromPool(kHighPriority, checked(index)).unwrap();
}

void set_device(int index) { c10::cuda::set_device(checked(index)); }

// A handle of the kind that any number of captures may share (ATen/cuda/CUDAGraph.h, graph_pool_handle).
GraphPool graph_pool() {
  const auto [first, second] = at::cuda::graph_pool_handle();
  return {first, second};
}

void graph_pool_free(int index, GraphPool pool) {
  const c10::cuda::CUDAGuard guard(checked(index));
  c10::cuda::CUDACachingAllocator::emptyCache({pool.first, pool.second});
}

// CUDAGraph records the current stream when it is made, so it is made on the right GPU.
CudaGraph* graph_create(int index, GraphPool pool) {
  const c10::cuda::CUDAGuard guard(checked(index));
  return new CudaGraph{c10::cuda::getCurrentCUDAStream(), {pool.first, pool.second}, {}};
}

// ThreadLocal, not Global: the loader's threads may take page-locked memory meanwhile, which Global forbids to every
// thread of the process (cudaStreamCaptureMode in the CUDA runtime's manual). What is captured here runs on the calling
// thread alone. Registering the generator by hand is what capture_begin does by itself in this torch; an earlier or
// later one may leave it to the caller (Note [Explicit Registration of Generators to the CUDA Graph]). What that makes
// are ordinary tensors in inference mode, too, with torch 2.11, so a forward of validation may be captured first;
// before pytorch #166792 such a capture spoilt all later ones.
void graph_begin(CudaGraph* graph) {
  graph->graph.register_generator_state(at::cuda::detail::getDefaultCUDAGenerator(graph->stream.device_index()));
  graph->capturing = true;
  graph->graph.capture_begin(graph->pool, cudaStreamCaptureModeThreadLocal);
}

void graph_end(CudaGraph* graph) {
  graph->graph.capture_end();
  graph->capturing = false;
}

void graph_replay(CudaGraph* graph) { graph->graph.replay(); }

template <class Work>
void ignoring_errors(Work work) {
  try {
    work();
  } catch (const std::exception&) {
  }
}

// On the stream of the capture. capture_end ends the stream's capture first, and throws if that was invalid; what it
// does after that is then done here: both allocators leave the pool, and give it back. Where the capture itself was
// good (the step threw on the host, or the graph could not be instantiated) the destructor gives it back.
void end_failed_capture(CudaGraph& graph) {
  auto* host = at::getHostAllocator(at::kCUDA);
  const auto device = graph.stream.device_index();
  ignoring_errors([&] { graph.graph.capture_end(); });
  if (!graph.graph.capture_ended()) {
    ignoring_errors([&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(device, graph.pool); });
    ignoring_errors([&] { c10::cuda::CUDACachingAllocator::releasePool(device, graph.pool); });
    ignoring_errors([&] { host->end_allocate_to_pool(graph.pool); });
    ignoring_errors([&] { host->release_pool(graph.pool); });
  }
  graph.graph.end_captured_draws();
  cudaGetLastError();  // an invalid capture leaves an error that the next, innocent call would report
}

void graph_destroy(CudaGraph* graph) {
  const c10::cuda::CUDAStreamGuard guard(graph->stream);
  if (graph->capturing) end_failed_capture(*graph);
  delete graph;
}

void set_host_waits(HostWaits waits) {
  using c10::cuda::SyncDebugMode;
  c10::cuda::warning_state().set_sync_debug_mode(waits == HostWaits::kRefused ? SyncDebugMode::L_ERROR
                                                                              : SyncDebugMode::L_DISABLED);
}

// NVTX 3 is a header: it looks for a profiler at the first call, and without one a call is a jump.
void range_push(const char* name) { nvtxRangePushA(name); }
void range_pop() { nvtxRangePop(); }

constexpr CudaTable kTable{.device_count = device_count,
                           .facts = facts,
                           .memory = memory,
                           .synchronize = synchronize,
                           .empty_cache = empty_cache,
                           .side_stream = side_stream,
                           .set_device = set_device,
                           .graph_pool = graph_pool,
                           .graph_pool_free = graph_pool_free,
                           .graph_create = graph_create,
                           .graph_begin = graph_begin,
                           .graph_end = graph_end,
                           .graph_replay = graph_replay,
                           .graph_destroy = graph_destroy,
                           .set_host_waits = set_host_waits,
                           .range_push = range_push,
                           .range_pop = range_pop};

}  // namespace
}  // namespace esper::device

extern "C" const esper::device::CudaTable* esper_cuda_table(int version) {
  return version == esper::device::kCudaTableVersion ? &esper::device::kTable : nullptr;
}
