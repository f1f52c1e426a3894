// Also built with the thread sanitizer, by tests/tsan: it holds no torch, which is the worker's.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "unit/program_compile/worker_fixture.h"

namespace esper::program::compiler_threads_test {
namespace {

constexpr int kThreads = 4, kOfEach = 6;

void in_threads(const std::function<void(int thread)>& work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
}

}  // namespace

TEST_CASE("threads submit, cancel, wait and poll at once, and each program has one outcome") {
  Service service;
  Compiler& compiler = service.start();

  std::atomic<int> failed = 0, cancelled = 0;
  in_threads([&](int thread) {
    std::vector<std::string> keys;
    for (int i = 0; i < kOfEach; ++i) {
      const auto request = Service::failing(thread * kOfEach + i);
      compiler.submit(request);
      if (i % 2 == 1) compiler.cancel(request.key);
      keys.push_back(request.key);
    }
    for (const auto& key : keys) {
      const auto outcome = compiler.wait(key, test::kLongPatience);
      if (!outcome || outcome->key != key) continue;
      if (outcome->failure == CompileFailure::kFailed) ++failed;
      if (outcome->failure == CompileFailure::kCancelled) ++cancelled;
    }
  });
  CHECK(failed == kThreads * kOfEach / 2);
  CHECK(cancelled == kThreads * kOfEach / 2);
  CHECK(compiler.pending() == 0);

  std::mutex mutex;
  std::multiset<std::string> submitted, polled;
  in_threads([&](int thread) {
    const auto request = Service::failing(1000 + thread);
    {
      const std::scoped_lock lock(mutex);
      submitted.insert(request.key);
    }
    compiler.submit(request);
    const auto is_complete = [&] {
      const auto outcome = compiler.poll(request.key);
      const std::scoped_lock lock(mutex);
      if (outcome) polled.insert(outcome->key);
      return compiler.pending() == 0 && polled.size() == kThreads;
    };
    comes_to(is_complete);
  });
  CHECK(polled == submitted);

  in_threads([&](int thread) {
    for (int i = 0; i < kOfEach; ++i) compiler.submit(Service::failing(2000 + thread * kOfEach + i));
  });
  service.compiler.reset();  // with most of them waiting
  CHECK(worker_groups().empty());
}

}  // namespace esper::program::compiler_threads_test
