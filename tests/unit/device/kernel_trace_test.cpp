#include "device/kernel_trace.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>

namespace esper::device::kernel_trace_test {
namespace {

const c10::Device kCpu(c10::DeviceType::CPU);

int count(const std::string& text, const std::string& words) {
  int found = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
  return found;
}

TEST_CASE("the operators of twenty steps are recorded, those before and after are not") {
  KernelTrace trace(kCpu);
  const auto value = torch::ones({4});
  const auto step = [&](bool is_last) {
    value.erf();
    trace.step_over(is_last);
  };
  step(false);
  CHECK(trace.text().empty());
  trace.begin();
  for (int i = 0; i < KernelTrace::kSteps; ++i) step(false);
  CHECK(trace.problem().empty());
  CHECK(count(trace.text(), "\"aten::erf\"") == KernelTrace::kSteps);
  const std::string before = trace.text();
  trace.begin();
  step(true);
  CHECK(trace.text() == before);
}

TEST_CASE("a recording ends with the epoch, and one that never ends does no harm") {
  {
    KernelTrace dropped(kCpu);
    dropped.begin();
  }
  KernelTrace trace(kCpu);
  trace.begin();
  torch::ones({4}).erf();
  trace.step_over(true);
  CHECK(trace.problem().empty());
  CHECK(count(trace.text(), "\"aten::erf\"") == 1);
}

}  // namespace
}  // namespace esper::device::kernel_trace_test
