#pragma once
// The recorded step of a small model, and what compiles its program: with a compiler that fails.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lanes/lane/recording.h"
#include "lanes/shape/compile_queue.h"
#include "unit/lanes/failing_compiler.h"
#include "unit/lanes/lane_parts.h"

namespace esper::tests {

inline program::Program recorded_step(step::Model& model, std::span<const step::Microbatch> batch) {
  auto recorded = lanes::record_undone(model, batch, step::training_forward(model.network));
  if (!recorded) FAIL(recorded.error());
  return *std::move(recorded);
}

struct CompilingStep : FailingCompiler, LaneParts {
  program::Program recorded = recorded_step(*model, make_batches(c, 1));
  lanes::CompileQueue queue{services, figures};

  CompilingStep() { services.compile_service = &service; }

  lanes::Variant variant(const std::string& recipe,
                         program::CompileEffort effort = program::CompileEffort::kQuick) const {
    return {recipe, effort, service.key(recorded, recipe)};
  }
  // The values of an attribute of the events of that name, in order.
  std::vector<std::string> reported(std::string_view name, const std::string& attribute) const {
    std::vector<std::string> values;
    for (const auto& event : events) {
      if (event.description == name) values.push_back(event.attributes.at(attribute));
    }
    return values;
  }
};

// While it lives the step's time runs two hundred times as fast, until a wait for its program is reported: then the
// longest wait is over.
class HurriedTime {
 public:
  explicit HurriedTime(CompilingStep& step)
      : time_(std::make_shared<base::ManualTime>()), hurry_([this](const std::stop_token& ended) {
          constexpr auto kPause = std::chrono::milliseconds(1);
          while (!ended.stop_requested() && !has_waited_) {
            std::this_thread::sleep_for(kPause);
            time_->advance(200 * kPause);
          }
        }) {
    step.services.clock = base::Clock(time_);
    step.services.send = [this, longest = step.service.longest_wait()] {
      has_waited_ = true;
      time_->advance(longest);
    };
  }
  HurriedTime(const HurriedTime&) = delete;
  HurriedTime& operator=(const HurriedTime&) = delete;

 private:
  std::shared_ptr<base::ManualTime> time_;
  std::atomic<bool> has_waited_ = false;
  std::jthread hurry_;  // ends first
};

}  // namespace esper::tests
