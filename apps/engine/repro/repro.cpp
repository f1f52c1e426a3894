// `esper repro`: runs the step of a bundle again, in eager, and finds where its numbers went wrong.

#include <c10/util/Exception.h>
#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/text/standard_output.h"
#include "data/preprocessing.h"
#include "device/out_of_memory.h"
#include "engine/commands.h"
#include "engine/repro/repro_report.h"
#include "engine/saved_run.h"
#include "lanes/lane/step_external_tensors.h"
#include "program/call_watch.h"
#include "storage/confined_file_system.h"
#include "tolaria/run/step_setup.h"

namespace esper::engine {
namespace {

using base::Error;
using base::ExitCode;
using step::Microbatch;
using tolaria::StepBundle;

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
  throw Error(ExitCode::kCheckpoint, path + " cannot be used: " + problem);
}

StepBundle read_bundle(const std::string& path) {
  storage::ConfinedFileSystem files(path, storage::Owner::kAnyone);
  auto bundle = tolaria::read_step_bundle(files, path);
  if (!bundle) throw Error(ExitCode::kCheckpoint, tolaria::why_unusable(path, bundle.error()));
  return std::move(*bundle);
}

std::vector<Microbatch> microbatches_of(const StepBundle& bundle, const std::string& path) {
  std::map<std::string, torch::Tensor> tensors;
  for (const auto& [id, tensor] : bundle.batch) tensors[id] = tensor;
  std::vector<Microbatch> microbatches;
  for (std::size_t i = 0; i < tensors.size() / 2; ++i) {
    const auto inputs = tensors.find(fmt::format("batch.{}.inputs", i));
    const auto targets = tensors.find(fmt::format("batch.{}.targets", i));
    if (inputs == tensors.end() || targets == tensors.end()) refuse(path, fmt::format("batch.{} is incomplete", i));
    const bool goes_on = i < bundle.facts.goes_on.size() && bundle.facts.goes_on[i];
    microbatches.push_back({inputs->second, targets->second, goes_on});
  }
  const bool is_whole = !microbatches.empty() && tensors.size() % 2 == 0 && !microbatches.front().goes_on;
  if (!is_whole) refuse(path, "its batch is incomplete");
  return microbatches;
}

// Bundles are of runs on the CPU.
TrainingSetup setup_of_bundle(config::RunConfig config, const SavedRun& saved) {
  config.device.kind = "cpu";
  TrainingSetup setup = set_up_saved(config, saved.preprocessing->shape, saved_numerics(saved));
  const auto restored = restore_network(*setup.model, saved.path, saved.image, setup.device);
  if (!restored) throw Error(ExitCode::kCheckpoint, restored.error());
  return setup;
}

// What reports call the tensors that were there before the step: each by itself, and where they lie together.
std::vector<program::ExternalTensor> named_tensors(const TrainingSetup& setup,
                                                   std::span<const Microbatch> microbatches) {
  auto named = lanes::step_external_tensors(*setup.model, microbatches);
  for (auto& [id, tensor] : step::all_tensors(*setup.model, setup.device)) named.push_back({id, tensor});
  return named;
}

struct Result {
  std::string name;  // "the loss"
  torch::Tensor tensor;
};

// What a run checks after a step, in this order.
std::vector<Result> results_of(const TrainingSetup& setup) {
  const step::StepState& state = setup.model->state;
  std::vector<Result> results = {{"the loss", state.figures.figure[step::kLoss]},
                                 {"the gradient's norm", state.figures.norm}};
  for (const auto& [id, tensor] : step::all_tensors(*setup.model, setup.device)) results.push_back({id, tensor});
  return results;
}

void run_step(TrainingSetup& setup, const tolaria::StepFacts& facts, std::span<const Microbatch> microbatches,
              program::FiniteTrace& trace) {
  const tolaria::RunFacts run{.config = setup.config,
                              .run_id = facts.run_id,
                              .training_hash = {},
                              .device = setup.device,
                              .batches_per_epoch = facts.batches_per_epoch};
  tolaria::StepSetup step_setup(run, *setup.model);
  step_setup.follow_network();
  step_setup.prepare(facts.step, facts.rate_factor, microbatches);
  const auto forward = step::training_forward(setup.model->network);
  const program::CallWatch watch(program::hooks_of(trace));
  step::train_step(setup.model->state, setup.model->settings, microbatches, forward);
}

Reproduction reproduce(const std::string& path, const config::RunConfig& config) {
  StepBundle bundle = read_bundle(path);
  const auto microbatches = microbatches_of(bundle, path);
  auto preprocessing = data::read_preprocessing(bundle.state.preprocessing);
  if (!preprocessing) refuse(path, "preprocessing.json: " + preprocessing.error());
  const SavedRun saved{path, std::move(bundle.state), std::move(*preprocessing)};
  TrainingSetup setup = setup_of_bundle(config, saved);
  program::FiniteTrace trace(named_tensors(setup, microbatches));
  Reproduction found{path, bundle.facts, {}, 0, {}};
  try {
    run_step(setup, bundle.facts, microbatches, trace);
  } catch (const c10::Error& error) {
    if (const std::string lack = device::out_of_memory_message(error); !lack.empty()) {
      throw Error(ExitCode::kResources, lack + "; the step needs as much memory as in its run");
    }
    refuse(path, std::string("its step cannot be run: ") + error.what_without_backtrace());
  }
  found.num_calls = trace.num_calls();
  for (const auto& [name, tensor] : results_of(setup)) {
    if (program::range_of(tensor).is_finite()) continue;
    found.result = name;
    found.way = trace.way_to(tensor);
    break;
  }
  return found;
}

}  // namespace

int run(const ReproRequest& request) {
  const Reproduction found = reproduce(request.bundle, request.config);
  if (request.json) {
    base::write_json(reproduction_json(found));
  } else {
    base::write_text(reproduction_text(found));
  }
  return found.result.empty() ? kDiffers : 0;
}

}  // namespace esper::engine
