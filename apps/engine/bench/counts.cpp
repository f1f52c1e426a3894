#include "engine/bench/counts.h"

#include <ATen/record_function.h>
#include <dlfcn.h>

#include <array>
#include <mutex>
#include <string_view>

#include "device/facts.h"

namespace esper::engine::bench {
namespace {

constexpr int kUnseenSteps = 5;
constexpr std::array<std::string_view, 6> kHostReads{"aten::item",       "aten::_local_scalar_dense",
                                                     "aten::is_nonzero", "aten::equal",
                                                     "aten::nonzero",    "aten::masked_select"};

// Every operator of every thread while this lives.
struct Tally {
  std::mutex mutex;
  std::map<std::string, std::int64_t> by_name;
};
Tally* g_tally = nullptr;

std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& call) {
  const std::scoped_lock lock(g_tally->mutex);
  ++g_tally->by_name[call.name()];
  return nullptr;
}

class Observer {
 public:
  explicit Observer(Tally& tally) {
    g_tally = &tally;
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&note).scopes({at::RecordScope::FUNCTION}));
  }
  ~Observer() { at::removeCallback(handle_); }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

 private:
  at::CallbackHandle handle_;
};

using Counter = std::function<std::int64_t()>;
Counter counter(const char* name) { return reinterpret_cast<std::int64_t (*)()>(dlsym(RTLD_DEFAULT, name)); }

std::int64_t per_step(std::int64_t total, int steps) { return (total + steps - 1) / steps; }

std::optional<std::int64_t> counted(const Counter& read, const std::function<void()>& step, int steps) {
  if (!read) return std::nullopt;
  const std::int64_t before = read();
  for (int i = 0; i < steps; ++i) step();
  return per_step(read() - before, steps);
}

}  // namespace

StepCounts count_step(const std::function<void()>& step, int steps, c10::Device device) {
  for (int i = 0; i < kUnseenSteps; ++i) step();
  StepCounts counts;
  counts.allocations = counted(counter("esper_heap_allocations"), step, steps);
  if (device.is_cuda()) {
    const auto blocks = [device] { return static_cast<std::int64_t>(device::memory_figures(device).allocations); };
    counts.kernel_launches = counted(counter("esper_kernel_launches"), step, steps);
    counts.device_allocations = counted(blocks, step, steps);
  }
  Tally tally;
  {
    const Observer observer(tally);
    for (int i = 0; i < steps; ++i) step();
  }
  for (const auto& [name, total] : tally.by_name) {
    counts.by_name[name] = per_step(total, steps);
    counts.operators += counts.by_name[name];
    for (const std::string_view read : kHostReads) counts.host_reads += name == read ? counts.by_name[name] : 0;
  }
  return counts;
}

}  // namespace esper::engine::bench
