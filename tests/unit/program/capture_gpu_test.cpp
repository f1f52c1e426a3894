// Captures on a GPU, and what is left after one that failed. Each test is skipped, and says so, where there is none.

#include <torch/types.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "device/rng.h"
#include "program/capture.h"
#include "support/gpu.h"

namespace esper::test::capture_gpu_test {

using namespace esper;
using program::Capture;
using program::CaptureFailure;

namespace {

torch::TensorOptions on(torch::Device gpu) { return torch::TensorOptions().device(gpu); }

// The stage in which capturing failed; empty: it did not.
std::string stage_of_failure(torch::Device gpu, const std::function<void()>& step, int warm_ups) {
  try {
    const Capture capture(gpu, step, warm_ups);
    return "";
  } catch (const CaptureFailure& failure) {
    CHECK_FALSE(std::string(failure.what()).empty());
    return failure.stage;
  }
}

// Three captures, one after the other, do what they are to do.
void check_captures_work(torch::Device gpu) {
  const auto value = torch::ones({1024}, on(gpu));
  auto kept = torch::zeros({1024}, on(gpu));
  for (int round = 0; round < 3; ++round) {
    Capture capture(gpu, [&] { kept.add_(value * 2); }, 1);
    kept.zero_();
    for (int i = 0; i < 5; ++i) capture.replay();
    CHECK(kept.sum().item<float>() == 10 * 1024);
  }
}

// Random numbers in and out of graphs.
void check_dropout_works(torch::Device gpu) {
  const auto ones = torch::ones({1 << 16}, on(gpu));
  CHECK(at::dropout(ones, 0.5, true).mean().item<float>() > 0.9f);
  auto out = torch::zeros_like(ones);
  Capture capture(gpu, [&] { out.copy_(at::dropout(ones, 0.5, true)); }, 1);
  capture.replay();
  const auto first = out.clone();
  capture.replay();
  CHECK_FALSE(torch::equal(first, out));
}

}  // namespace

TEST_CASE("on a card captures work one after the other, also when none was left in between") {
  const auto gpu = gpu_or_skip();
  check_captures_work(gpu);
  check_captures_work(gpu);
}

TEST_CASE("on a card a wait within a capture is reported, and captures and random numbers work after it") {
  const auto gpu = gpu_or_skip();
  const auto value = torch::ones({1024}, on(gpu));
  CHECK(stage_of_failure(gpu, [&] { value.sum().item<float>(); }, 1) == "capture");
  CHECK(value.sum().item<float>() == 1024);
  check_captures_work(gpu);
  check_dropout_works(gpu);
}

TEST_CASE("on a card a dropout before the failure within a capture spoils no later random number") {
  const auto gpu = gpu_or_skip();
  const auto value = torch::ones({1024}, on(gpu));
  const auto step = [&] { at::dropout(value, 0.5, true).sum().item<float>(); };
  CHECK(stage_of_failure(gpu, step, 0) == "capture");
  check_dropout_works(gpu);
  check_captures_work(gpu);
}

TEST_CASE("on a card an exception on the host within a capture, and a capture beside one that lives, leave all well") {
  const auto gpu = gpu_or_skip();
  const auto value = torch::ones({1024}, on(gpu));
  auto kept = torch::zeros({1024}, on(gpu));
  Capture living(gpu, [&] { kept.add_(value * 3); }, 1);
  int calls = 0;
  const auto step = [&] {
    const auto made = value * 2;
    if (++calls > 1) throw std::runtime_error("of the step");
  };
  CHECK(stage_of_failure(gpu, step, 1) == "capture");
  kept.zero_();
  living.replay();
  CHECK(kept.sum().item<float>() == 3 * 1024);
  check_captures_work(gpu);
  check_dropout_works(gpu);
}

TEST_CASE("on a card a lack of memory within a capture is reported as such, and memory is there again") {
  const auto gpu = gpu_or_skip();
  const auto free = static_cast<std::int64_t>(device::cuda().memory(gpu.index()).free_bytes);
  int calls = 0;
  const auto step = [&] {
    if (++calls > 1) at::empty({2 * free}, on(gpu).dtype(torch::kUInt8));
  };
  CHECK(stage_of_failure(gpu, step, 1) == "capture");
  CHECK_NOTHROW(at::empty({free / 2}, on(gpu).dtype(torch::kUInt8)));
  check_captures_work(gpu);
}

TEST_CASE("on a card a capture has the memory that torch only caches, for eager steps and for its warm-up") {
  const auto gpu = gpu_or_skip();
  device::cuda().empty_cache(gpu.index());
  const auto free = static_cast<std::int64_t>(device::cuda().memory(gpu.index()).free_bytes);
  const auto allocated = [&] { return at::empty({free / 10 * 6}, on(gpu).dtype(torch::kUInt8)); };
  allocated();
  auto kept = torch::zeros({1024}, on(gpu));
  Capture capture(gpu, [&] { kept.add_(allocated().narrow(0, 0, 1024).fill_(2)); }, 1);
  kept.zero_();
  capture.replay();
  CHECK(kept.sum().item<float>() == 2 * 1024);
}

TEST_CASE("on a card nothing that a failed warm-up queued is still to run") {
  const auto gpu = gpu_or_skip();
  const auto factor = torch::ones({4096, 4096}, on(gpu));
  auto product = torch::empty_like(factor), parameter = torch::ones({1024}, on(gpu));
  const auto saved = parameter.clone();
  const auto step = [&] {
    for (int i = 0; i < 200; ++i) at::mm_out(product, factor, factor);
    parameter.fill_(7);
    throw std::runtime_error("after all is queued");
  };
  CHECK(stage_of_failure(gpu, step, 1) == "warm_up");
  parameter.copy_(saved);
  device::cuda().synchronize(gpu.index());
  CHECK(torch::equal(parameter, saved));
}

TEST_CASE("on a card a failure in the warm-up is reported as such") {
  const auto gpu = gpu_or_skip();
  CHECK(stage_of_failure(gpu, [] { throw std::runtime_error("at once"); }, 1) == "warm_up");
  check_captures_work(gpu);
}

TEST_CASE("on a card captures share their memory while one lives, and the last gives it back") {
  const auto gpu = gpu_or_skip();
  const auto value = torch::ones({1 << 22}, on(gpu));
  auto kept = torch::zeros({1 << 22}, on(gpu));
  const auto step = [&] { kept.add_((value * 2).exp_()); };
  {
    const Capture warm(gpu, step, 1);
  }
  const auto before = device::cuda().memory(gpu.index());
  {
    const Capture first(gpu, step, 0);
    const auto one = device::cuda().memory(gpu.index()).reserved_bytes;
    CHECK(one > before.reserved_bytes);
    const Capture second(gpu, step, 0);
    CHECK(device::cuda().memory(gpu.index()).reserved_bytes == one);
  }
  CHECK(device::cuda().memory(gpu.index()).used_bytes == before.used_bytes);
  CHECK(device::cuda().memory(gpu.index()).reserved_bytes == before.reserved_bytes);
}

TEST_CASE("on a card steps are captured while other threads take page-locked memory") {
  const auto gpu = gpu_or_skip();
  std::atomic<bool> done{false};
  std::thread loader([&] {
    for (std::int64_t size = 1; !done; size = size % 64 + 1)
      at::empty({size << 16}, torch::dtype(torch::kUInt8).pinned_memory(true));
  });
  const auto value = torch::ones({1 << 16}, on(gpu));
  auto kept = torch::zeros({1 << 16}, on(gpu));
  int failures = 0;
  for (int round = 0; round < 50; ++round) {
    if (!stage_of_failure(gpu, [&] { kept.add_(value * 2); }, 1).empty()) ++failures;
  }
  done = true;
  loader.join();
  CHECK(failures == 0);
}

}  // namespace esper::test::capture_gpu_test
