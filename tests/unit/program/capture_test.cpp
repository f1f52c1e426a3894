// What a capture asks of the GPU, in which order, with a stand-in for the GPU.

#include "program/capture.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/out_of_memory.h"

namespace esper::test::capture_test {

using namespace esper;
using program::Capture;
using program::CaptureFailure;

namespace {

using Calls = std::vector<std::string>;

struct Card {
  Calls calls;
  std::uint64_t pools = 0;
  bool fails = false;
} g_card;

void record_call(const char* name) { g_card.calls.emplace_back(name); }

device::CudaTable fake_table() {
  g_card = {};
  device::CudaTable table = device::unavailable_cuda_table();
  table.synchronize = [](int) {
    record_call("synchronize");
    if (g_card.fails) throw std::runtime_error("an illegal access before");
  };
  table.empty_cache = [](int) { record_call("empty_cache"); };
  table.graph_pool = [] {
    record_call("graph_pool");
    return device::GraphPool{0, ++g_card.pools};
  };
  table.graph_pool_free = [](int, device::GraphPool) { record_call("graph_pool_free"); };
  table.graph_create = [](int, device::GraphPool) {
    record_call("graph_create");
    return reinterpret_cast<device::CudaGraph*>(&g_card);
  };
  table.graph_begin = [](device::CudaGraph*) { record_call("graph_begin"); };
  table.graph_end = [](device::CudaGraph*) { record_call("graph_end"); };
  table.graph_replay = [](device::CudaGraph*) { record_call("graph_replay"); };
  table.graph_destroy = [](device::CudaGraph*) { record_call("graph_destroy"); };
  return table;
}

class FakeBackend {
 public:
  Capture capture(const std::function<void()>& step) {
    return {c10::DeviceType::CPU, step, /*warm_ups=*/1, {table_, pools_, stream_of}};
  }
  CaptureFailure failure_of(const std::function<void()>& step) {
    try {
      capture(step);
    } catch (const CaptureFailure& failure) {
      return failure;
    }
    FAIL("it was captured");
    throw std::logic_error("not reached");
  }

 private:
  static c10::Stream stream_of(c10::Device device) { return c10::Stream(c10::Stream::DEFAULT, device); }

  device::CudaTable table_ = fake_table();
  program::GraphPools pools_{table_};
};

// Runs out of memory in its calls from `first` on, as often; the warm-up is the first of all.
class Step {
 public:
  Step(int first, int failures) : first_(first), last_(first + failures) {}
  void operator()() {
    record_call("step");
    const bool fails = ++calls_ >= first_ && calls_ < last_;
    TORCH_CHECK_WITH(OutOfMemoryError, !fails, "CUDA out of memory. Tried to allocate 2.00 GiB");
  }

 private:
  int first_, last_, calls_ = 0;
};

std::int64_t count(const char* name) { return std::ranges::count(g_card.calls, name); }

const Calls kWarmUp{"synchronize", "step", "synchronize"};
const Calls kFailedCapture{"graph_pool", "graph_create", "graph_begin", "step", "graph_destroy", "graph_pool_free"};
const Calls kCapture{"graph_pool", "graph_create", "graph_begin", "step", "graph_end", "synchronize"};

Calls in_order(std::initializer_list<Calls> parts) {
  Calls all;
  for (const Calls& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

TEST_CASE("a capture that has the memory leaves torch's cache alone") {
  FakeBackend backend;
  {
    Capture capture = backend.capture(Step(0, 0));
    CHECK(g_card.calls == in_order({kWarmUp, kCapture}));
    capture.replay();
  }
  CHECK(g_card.calls ==
        in_order({kWarmUp, kCapture, {"graph_replay", "synchronize", "graph_destroy", "graph_pool_free"}}));
}

TEST_CASE("a capture that runs out of memory is tried again once torch's cache is empty") {
  FakeBackend backend;
  const Capture capture = backend.capture(Step(2, 1));
  CHECK(g_card.calls == in_order({kWarmUp, kFailedCapture, {"synchronize", "empty_cache"}, kCapture}));
}

TEST_CASE("a capture that lacks memory all the same fails, and leaves nothing behind") {
  FakeBackend backend;
  const CaptureFailure failure = backend.failure_of(Step(2, 9));
  CHECK(failure.stage == "capture");
  CHECK_FALSE(device::out_of_memory_message(failure).empty());
  CHECK(g_card.calls ==
        in_order({kWarmUp, kFailedCapture, {"synchronize", "empty_cache"}, kFailedCapture, {"synchronize"}}));
}

TEST_CASE("a capture that fails for another reason is not tried again") {
  FakeBackend backend;
  int calls = 0;
  const CaptureFailure failure = backend.failure_of([&] {
    if (++calls > 1) throw std::runtime_error("operation not permitted when stream is capturing");
  });
  CHECK(failure.stage == "capture");
  CHECK(calls == 2);
  CHECK(count("empty_cache") == 0);
}

TEST_CASE("after a warm-up that failed the card is waited for before the failure is reported") {
  FakeBackend backend;
  CHECK(backend.failure_of(Step(1, 1)).stage == "warm_up");
  CHECK(g_card.calls == Calls{"synchronize", "step", "synchronize"});
}

TEST_CASE("a card that cannot be waited for hides no reason of a failure") {
  FakeBackend backend;
  const CaptureFailure failure = backend.failure_of([] {
    g_card.fails = true;
    throw std::runtime_error("of the step");
  });
  CHECK(failure.what() == std::string("of the step"));
  CHECK(count("synchronize") == 2);
}

}  // namespace esper::test::capture_test
