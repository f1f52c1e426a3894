#include "lanes/lane/recording.h"

#include <fmt/core.h>

#include <algorithm>

#include "lanes/lane/step_external_tensors.h"

namespace esper::lanes {

using step::Microbatch;
using step::Model;
using step::train_step;
using step::TrainingForward;

namespace {

using program::Program;
using program::SizedRecording;
using program::SymbolicProgram;
using Batch = std::span<const Microbatch>;

// The same samples, repeated if there are too few.
std::vector<Microbatch> resized(Batch example, std::int64_t n) {
  std::vector<Microbatch> result;
  for (const Microbatch& microbatch : example) {
    const auto of_long = torch::dtype(torch::kInt64).device(microbatch.inputs.device());
    const torch::Tensor which = at::arange(n, of_long).remainder_(microbatch.inputs.size(0));
    result.push_back(
        {microbatch.inputs.index_select(0, which), microbatch.targets.index_select(0, which), microbatch.goes_on});
  }
  return result;
}

base::Expected<SymbolicProgram> compare_sizes(Model& model, Batch example, SizedRecording recorded,
                                              const std::vector<std::int64_t>& others, const TrainingForward& forward) {
  std::vector<SizedRecording> recordings{std::move(recorded)};
  for (const std::int64_t n : others) {
    auto other = record_undone(model, resized(example, n), forward);
    if (!other) return base::failure(other.error());
    recordings.push_back({n, *std::move(other)});
  }
  return find_symbolic(recordings);
}

}  // namespace

std::int64_t batch_size_of(Batch microbatches) {
  const std::int64_t n = microbatches.front().inputs.size(0);
  const bool same = std::ranges::all_of(microbatches, [n](const Microbatch& microbatch) {
    return microbatch.inputs.size(0) == n && microbatch.targets.size(0) == n;
  });
  return same ? n : 0;
}

base::Expected<Program> record_undone(Model& model, Batch microbatches, const TrainingForward& forward, int warmups) {
  const StepSnapshot start(model, model.state.device);
  const auto step = [&] { train_step(model.state, model.settings, microbatches, forward); };
  try {
    for (int i = 0; i < warmups; ++i) step();
    auto recorded = program::record(step_external_tensors(model, microbatches), step);
    start.restore();
    return recorded;
  } catch (...) {
    start.restore();
    throw;
  }
}

base::Expected<SymbolicProgram> record_for_all_sizes(Model& model, Batch example, const Program& recorded,
                                                     const TrainingForward& forward) {
  const std::int64_t n = batch_size_of(example);
  if (n == 0) return base::failure("its microbatches have different numbers of samples");
  if (n < SymbolicProgram::kLeast || n > SymbolicProgram::kMost) {
    return base::failure(
        fmt::format("a batch of {} is outside {} to {}", n, SymbolicProgram::kLeast, SymbolicProgram::kMost));
  }
  auto symbolic = compare_sizes(model, example, {n, recorded}, {n + 1, n + 3}, forward);
  // The step may take another code path from some size just above this one.
  if (symbolic || n - 3 < SymbolicProgram::kLeast) return symbolic;
  auto below = compare_sizes(model, example, {n, recorded}, {n - 1, n - 3}, forward);
  return below ? below : symbolic;
}

}  // namespace esper::lanes
