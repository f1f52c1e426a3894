#pragma once
// The network and all state that its training carries, and how both go into and out of a checkpoint. Training thread.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "config/run_config.h"
#include "device/rng.h"
#include "kasmina/network.h"
#include "leyline/blueprint/sample_shape.h"
#include "step/step_state.h"
#include "step/train_step.h"

namespace esper::step {

struct Model {
  kasmina::Network network;
  StepSettings settings;
  StepState state;
};

// settings: with the precision resolved for the device. Throws Error{kConfig} where the configuration names what the
// host or the data do not have.
std::unique_ptr<Model> build_model(const config::RunConfig& config, const leyline::SampleShape& sample,
                                   const StepSettings& settings, torch::Device device);

// The network's forward while it trains. Borrows it.
TrainingForward training_forward(const kasmina::Network& network);

// Optimizer state, averages and metric sums follow the network's structure.
StructureChange follow_structure(Model& model);

// A seed whose training gate is closed keeps its parameters: neither momentum nor weight decay moves them. Where the
// gate opens its optimizer state is reset: moments and step count at zero, or with the moments of what it is a copy of.
// Where growth.seed_schedule is set, the scales are written again before each step (step/seed_rates.h).
void follow_training_gates(Model& model);

// Every tensor that a resumed run needs, by id: the model's, then those of the default random number generators.
std::vector<kasmina::NamedTensor> all_tensors(const Model& model, torch::Device device);
// Parameters, buffers, seed scalars, step state.
std::vector<kasmina::NamedTensor> model_tensors(const Model& model);
std::vector<kasmina::NamedTensor> rng_tensors(const device::RngState& rng);

// Tensors of a checkpoint whose ids begin with this belong to the run, not to its model: restore_model() skips them.
inline constexpr std::string_view kRunTensors = "control.";
// The same of the averaged model's batch norm statistics.
inline constexpr std::string_view kAveragedTensors = "averaged.";

// Makes `model`, fresh from build_model, the one that was saved; where that fails the model is of no more use. The
// default random number generators are set last. Throws where memory is short.
base::Expected<void> restore_model(Model& model, const nlohmann::json& topology,
                                   const std::vector<kasmina::NamedTensor>& tensors, torch::Device device);

}  // namespace esper::step
