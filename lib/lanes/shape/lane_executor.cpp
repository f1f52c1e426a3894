#include "lanes/shape/lane_executor.h"

#include <exception>

#include "device/asynchronous_error.h"
#include "device/cuda_table.h"
#include "device/out_of_memory.h"
#include "lanes/lane/failure_text.h"

namespace esper::lanes {

using Batch = std::span<const step::Microbatch>;

void LaneExecutor::run_eager(Batch microbatches) {
  tally_.ran_eager(context_.figures);
  step::train_step(context_.model.state, context_.model.settings, microbatches, context_.forward);
}

void LaneExecutor::run_in(const Lane& lane, Batch microbatches) {
  tally_.ran(context_.figures, lane);
  try {
    lane.run(microbatches);
  } catch (const std::exception& error) {
    const bool lacks_memory = !device::out_of_memory_message(error).empty();
    if (lane.key().empty() || lacks_memory) throw;
    throw failures_.failed_step(lane, describe(error));
  }
}

void LaneExecutor::run_incumbent(const std::optional<Lane>& incumbent, Batch microbatches) {
  if (incumbent) return run_in(*incumbent, microbatches);
  run_eager(microbatches);
}

std::optional<base::Error> LaneExecutor::late_failure(const std::exception& error) {
  if (tally_.epoch_compiled_steps == 0 || tally_.last_compiled_key.empty()) return std::nullopt;
  if (dynamic_cast<const base::Error*>(&error) != nullptr) return std::nullopt;
  const std::string reason = describe(error);
  if (!device::is_asynchronous_error(reason)) return std::nullopt;
  return failures_.late_failure(tally_.last_compiled_key, reason);
}

base::Duration LaneExecutor::time(const std::function<void()>& step) const {
  const auto wait_for_device = [this] {
    if (context_.device.is_cuda()) device::cuda().synchronize(context_.device.index());
  };
  wait_for_device();
  const auto begin = context_.services.clock.now();
  step();
  wait_for_device();
  return context_.services.clock.now() - begin;
}

}  // namespace esper::lanes
