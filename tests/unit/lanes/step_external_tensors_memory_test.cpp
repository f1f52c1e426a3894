// How much memory a step takes while it is recorded.

#include <c10/core/CPUAllocator.h>

#include <catch2/catch_test_macros.hpp>
#include <mutex>
#include <unordered_map>

#include "lanes/lane/step_external_tensors.h"
#include "program/recorder.h"
#include "support/models/lane_cases.h"

namespace esper::test::step_external_tensors_memory_test {

using namespace esper;
using namespace esper::tests;

namespace {

// Counts the bytes of tensors that are alive. There is one, and what it handed out may outlive every test.
class CountingAllocator final : public c10::Allocator {
 public:
  static CountingAllocator& installed() {
    static CountingAllocator* const one = new CountingAllocator;
    return *one;
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr real = real_->allocate(bytes);
    void* const data = real.get();
    {
      const std::lock_guard guard(mutex_);
      sizes_[data] = bytes;
      live_ += bytes;
      peak_ = std::max(peak_, live_);
    }
    real.release_context();
    return {data, data, &CountingAllocator::give_back, real.device()};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &CountingAllocator::give_back; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

  // The most bytes alive at once during the work, beyond those before it.
  std::size_t peak_of(const std::function<void()>& work) {
    const std::size_t before = live_;
    peak_ = live_;
    work();
    return peak_ - before;
  }

 private:
  static constexpr std::uint8_t kPriority = 200;
  CountingAllocator() : real_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, kPriority); }

  static void give_back(void* data) {
    CountingAllocator& one = installed();
    if (data == nullptr) return;
    {
      const std::lock_guard guard(one.mutex_);
      const auto found = one.sizes_.find(data);
      one.live_ -= found->second;
      one.sizes_.erase(found);
    }
    one.real_->raw_deleter()(data);
  }

  c10::Allocator* const real_;
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::size_t live_ = 0, peak_ = 0;
};

}  // namespace

TEST_CASE("a step takes no more memory while it is recorded than otherwise") {
  at::set_num_threads(1);
  CountingAllocator& memory = CountingAllocator::installed();
  for (const LaneCase& c : lane_cases()) {
    auto model = make_model(c);
    const auto batch = make_batches(c, 1);
    const auto step = [&] {
      step::train_step(model->state, model->settings, batch, step::training_forward(model->network));
    };
    step();
    const std::size_t plain = memory.peak_of(step);
    const std::size_t recorded = memory.peak_of([&] {
      const auto result = program::record(lanes::step_external_tensors(*model, batch), step);
      CHECK(result);
    });
    CAPTURE(c.name, plain, recorded);
    CHECK(recorded <= plain + plain / 50);
  }
}

}  // namespace esper::test::step_external_tensors_memory_test
