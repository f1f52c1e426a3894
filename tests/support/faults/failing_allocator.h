#pragma once
// PyTorch's host allocator, with a lack of memory where a test wants it.

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <thread>

namespace esper::test {

class FailingAllocator final : public at::Allocator {
 public:
  // Lives as long as the process: tensors keep a pointer to the allocator that they came from.
  static FailingAllocator& instance() {
    static FailingAllocator* only = new FailingAllocator;
    return *only;
  }

  // The n-th allocation of the thread from now on fails, once; n counts from 1.
  void fail_at(std::int64_t n, std::thread::id thread = std::this_thread::get_id()) {
    thread_ = thread;
    left_ = n;
  }
  // Whether it has come to that; nothing fails any more.
  bool fired() { return left_.exchange(0) < 0; }

  at::DataPtr allocate(std::size_t bytes) override {
    if (left_ > 0 && thread_.load() == std::this_thread::get_id() && --left_ == 0) {
      left_ = -1;
      if (bytes % 8 == 0) throw std::bad_alloc();
      TORCH_CHECK_WITH(OutOfMemoryError, false, "tried to allocate ", bytes, " bytes");
    }
    return real_->allocate(bytes);
  }
  at::DeleterFnPtr raw_deleter() const override { return real_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { real_->copy_data(to, from, bytes); }

 private:
  // Whichever is installed last is above the others of this priority, and asks them.
  static constexpr std::uint8_t kPriority = 200;
  FailingAllocator() : real_(at::GetCPUAllocator()) { at::SetCPUAllocator(this, kPriority); }

  at::Allocator* real_;
  std::atomic<std::int64_t> left_{0};  // 0: nothing is to fail; -1: it has
  std::atomic<std::thread::id> thread_{};
};

}  // namespace esper::test
