#include "device/precision.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <future>
#include <optional>

#include "support/models/reduced_fp32.h"

namespace esper::device::precision_test {
namespace {

using config::Precision;
constexpr auto kCpu = c10::DeviceType::CPU;

at::Tensor product() {
  const auto a = torch::ones({4, 4});
  return torch::matmul(a, a);
}

TEST_CASE("precision resolves by name, and auto is fp32 on the CPU") {
  const c10::Device cpu(kCpu);
  CHECK(resolve_precision(Precision::kFp32, cpu) == torch::kFloat);
  CHECK(resolve_precision(Precision::kBf16, cpu) == torch::kBFloat16);
  CHECK(resolve_precision(Precision::kFp16, cpu) == torch::kHalf);
  CHECK(resolve_precision(Precision::kAuto, cpu) == torch::kFloat);
}

TEST_CASE("products are in the short type inside the scope only") {
  {
    const AutocastScope scope(kCpu, torch::kBFloat16);
    CHECK(product().scalar_type() == torch::kBFloat16);
  }
  CHECK(product().scalar_type() == torch::kFloat);
}

TEST_CASE("float32 leaves everything as it is") {
  const AutocastScope scope(kCpu, torch::kFloat);
  CHECK(product().scalar_type() == torch::kFloat);
}

TEST_CASE("scopes nest and put back what was before, also past an exception") {
  const AutocastScope outer(kCpu, torch::kBFloat16);
  {
    const AutocastScope inner(kCpu, torch::kHalf);
    CHECK(product().scalar_type() == torch::kHalf);
  }
  CHECK(product().scalar_type() == torch::kBFloat16);
  CHECK_THROWS([] {
    const AutocastScope inner(kCpu, torch::kHalf);
    throw std::runtime_error("leaves the scope");
  }());
  CHECK(product().scalar_type() == torch::kBFloat16);
}

TEST_CASE("a parameter that changed between two scopes is cast again") {
  auto weight = torch::ones({2, 2}).requires_grad_(true);
  const auto input = torch::ones({2, 2});
  const auto first_element = [&] {
    const AutocastScope scope(kCpu, torch::kBFloat16);
    return torch::matmul(input, weight).index({0, 0}).item<float>();
  };
  CHECK(first_element() == 2.0F);
  {
    const torch::NoGradGuard no_grad;
    weight.mul_(3.0);
  }
  CHECK(first_element() == 6.0F);
}

// On a processor that has no units for bf16 oneDNN computes in float32 all the same.
TEST_CASE("products of float32 are in full fp32 inside the scope, and as before it afterwards") {
  const c10::Device cpu(kCpu);
  const auto factor = torch::full({256, 256}, 1.0F + 1.0F / 1024);  // not a bf16 number
  const auto corner = [&] { return torch::matmul(factor, factor).index({0, 0}).item<float>(); };
  const float full = corner();
  CHECK_FALSE(uses_reduced_fp32(cpu));
  {
    const test::ReducedFp32 reduced;
    CHECK(uses_reduced_fp32(cpu));
    {
      const FullFp32 scope(cpu);
      CHECK_FALSE(uses_reduced_fp32(cpu));
      CHECK(corner() == full);
    }
    CHECK(uses_reduced_fp32(cpu));
    if (test::ReducedFp32::has_units()) CHECK(corner() != full);
  }
  CHECK_FALSE(uses_reduced_fp32(cpu));
}

// As device.tf32 sets it. The settings are there without a GPU, too.
class Tf32 {
 public:
  Tf32() { set(true, true); }
  ~Tf32() { set(products_, convolutions_); }
  Tf32(const Tf32&) = delete;
  Tf32& operator=(const Tf32&) = delete;

 private:
  void set(bool products, bool convolutions) {
    context_.setAllowTF32CuBLAS(products);
    context_.setAllowTF32CuDNN(convolutions);
  }
  at::Context& context_ = at::globalContext();
  const bool products_ = context_.allowTF32CuBLAS(), convolutions_ = context_.allowTF32CuDNN();
};

const c10::Device kCard(c10::DeviceType::CUDA, 0);
constexpr auto kMoment = std::chrono::milliseconds(50);

template <typename T>
bool is_ready_in_a_moment(const std::future<T>& future) {
  return future.wait_for(kMoment) == std::future_status::ready;
}

TEST_CASE("the precision of products on a card does not change while another thread computes with it") {
  const Tf32 tf32;
  std::optional<SteadyFp32> steady(std::in_place, kCard);
  const auto full = std::async(std::launch::async, [] {
    const FullFp32 scope(kCard);
    return !uses_reduced_fp32(kCard);
  });
  CHECK_FALSE(is_ready_in_a_moment(full));
  CHECK(uses_reduced_fp32(kCard));
  steady.reset();
  full.wait();
  CHECK(uses_reduced_fp32(kCard));
}

TEST_CASE("a thread that computes on a card waits for the end of another one's full fp32") {
  const Tf32 tf32;
  std::optional<FullFp32> full(std::in_place, kCard);
  auto reduced = std::async(std::launch::async, [] {
    const SteadyFp32 steady(kCard);
    return uses_reduced_fp32(kCard);
  });
  CHECK_FALSE(is_ready_in_a_moment(reduced));
  full.reset();
  CHECK(reduced.get());
}

TEST_CASE("scopes of full fp32 on a card nest, and their thread computes in them") {
  const Tf32 tf32;
  {
    const FullFp32 outer(kCard);
    {
      const FullFp32 inner(kCard);
      const SteadyFp32 steady(kCard);
      CHECK_FALSE(uses_reduced_fp32(kCard));
    }
    CHECK_FALSE(uses_reduced_fp32(kCard));
  }
  CHECK(uses_reduced_fp32(kCard));
  const SteadyFp32 free(kCard);
}

TEST_CASE("on the CPU nothing is waited for") {
  const SteadyFp32 steady{c10::Device(kCpu)};
  auto full = std::async(std::launch::async, [] { const FullFp32 scope(kCard); });
  full.get();
}

}  // namespace
}  // namespace esper::device::precision_test
