#include "device/kernel_trace.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <cstdlib>
#include <exception>
#include <set>

#include "base/scratch_folder.h"
#include "base/text/text_file.h"
#include "device/cuda_table.h"

namespace esper::device {
namespace {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;

std::set<ActivityType> activities_of(c10::Device device) {
  if (device.is_cuda()) return {ActivityType::CPU, ActivityType::CUDA};
  return {ActivityType::CPU};
}

}  // namespace

void silence_kineto() { setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0); }

KernelTrace::~KernelTrace() {
  if (state_ != State::kRecording) return;
  try {
    profiler::disableProfiler();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // Another failure ends the recording, and is reported.
  }
}

void KernelTrace::begin() {
  if (state_ != State::kBefore) return;
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
  try {
    if (device_.is_cuda()) cuda().synchronize(device_.index());
    profiler::prepareProfiler(config, activities_of(device_));
    profiler::enableProfiler(config, activities_of(device_));
    state_ = State::kRecording;
  } catch (const std::exception& error) {
    state_ = State::kOver;
    problem_ = error.what();
  }
}

void KernelTrace::step_over(bool is_last) {
  if (state_ == State::kRecording && (++steps_ == kSteps || is_last)) finish();
}

// Kineto writes files alone.
void KernelTrace::finish() {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  state_ = State::kOver;
  try {
    if (device_.is_cuda()) cuda().synchronize(device_.index());
    const auto recorded = profiler::disableProfiler();
    const base::ScratchFolder folder("esper-kernel-trace");
    const std::string file = folder.path() + "/trace.json";
    recorded->save(file);
    auto text = base::read_text_file(file, kMostBytes, base::Streams::kRefused);
    if (text) {
      text_ = std::move(*text);
    } else {
      problem_ = text.error();
    }
  } catch (const std::exception& error) {
    problem_ = error.what();
  }
}

}  // namespace esper::device
