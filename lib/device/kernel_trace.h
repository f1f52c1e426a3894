#pragma once
// What a device ran in some steps, kernel by kernel, as torch's profiler (Kineto) sees it. Training thread.

#include <c10/core/Device.h>

#include <string>

namespace esper::device {

// A recording of some steps, once in a process. What it costs, about a second at its beginning and microseconds a
// kernel, falls on those steps alone.
class KernelTrace {
 public:
  static constexpr int kSteps = 20;

  explicit KernelTrace(c10::Device device) : device_(device) {}
  ~KernelTrace();
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;

  // Between two steps: begins, if it has not begun before.
  void begin();
  // A step was queued: after kSteps of them, or where is_last, waits for the device and ends.
  void step_over(bool is_last);

  // In the trace event format that chrome://tracing and ui.perfetto.dev open; empty: nothing was recorded.
  const std::string& text() const { return text_; }
  // Why, if something went wrong.
  const std::string& problem() const { return problem_; }

 private:
  enum class State { kBefore, kRecording, kOver };
  void finish();

  c10::Device device_;
  State state_ = State::kBefore;
  int steps_ = 0;
  std::string text_, problem_;
};

// Kineto says on standard error where there is no GPU: not from now on, in this process. Before threads start.
void silence_kineto();

}  // namespace esper::device
