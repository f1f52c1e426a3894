#include "engine/bench/drift/drift.h"

#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "device/precision.h"
#include "device/rng.h"
#include "device/settings.h"
#include "engine/bench/drift/drift_figures.h"
#include "engine/bench/peers.h"
#include "engine/bench/progress.h"
#include "engine/python/find_python.h"
#include "step/step_metrics.h"

namespace esper::engine::bench {
namespace {

using base::Error;
using base::ExitCode;
using config::Precision;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::chrono::seconds kReferenceDeadline{600};

struct PrecisionRow {
  const char* name;
  Precision precision;
  bool tf32;
};

std::vector<PrecisionRow> rows_on(torch::Device device) {
  std::vector<PrecisionRow> rows{{"fp32", Precision::kFp32, false}};
  if (device.is_cuda()) rows.push_back({"tf32", Precision::kFp32, true});
  rows.push_back({"bf16", Precision::kBf16, false});
  rows.push_back({"fp16", Precision::kFp16, false});
  return rows;
}

std::vector<std::string> parameter_names(const step::Model& model) {
  std::vector<std::string> names;
  for (const auto& group : model.network.parameter_groups()) {
    for (const auto& [id, tensor] : group.parameters) names.push_back(id);
  }
  return names;
}

std::vector<double> parameters_of(const step::Model& model) {
  std::vector<double> out;
  for (const auto& group : model.network.parameter_groups()) {
    for (const auto& [id, tensor] : group.parameters) {
      const torch::Tensor wide = tensor.detach().to(torch::kCPU, torch::kFloat64).contiguous();
      const double* values = wide.const_data_ptr<double>();
      out.insert(out.end(), values, values + wide.numel());
    }
  }
  return out;
}

Trajectory train(const Workload& workload, const PrecisionRow& row, const std::vector<int>& reported) {
  const TrainingSetup& setup = workload.setup;
  config::RunConfig config = setup.config;
  config.device.precision = row.precision;
  config.device.tf32 = row.tf32;
  device::apply_settings(config.device, setup.device);
  const auto settings = step::step_settings(config, device::resolve_precision(row.precision, setup.device));
  device::seed_all(config.seed);
  const auto model = step::build_model(config, setup.data.train.shape, settings, setup.device);
  step::set_learning_rate(model->state, config.training.optimizer.lr);
  const auto forward = step::training_forward(model->network);
  Trajectory out;
  for (int number = 1; number <= reported.back(); ++number) {
    const std::size_t batch = static_cast<std::size_t>(number - 1) % workload.steps.size();
    step::train_step(model->state, model->settings, workload.steps[batch], forward);
    const auto metrics = step::read_metrics(model->state);
    out.losses.push_back(metrics.loss);
    if (settings.scales_loss()) out.skipped_steps += metrics.nonfinite_steps;
    if (std::ranges::binary_search(reported, number)) out.parameters.push_back(parameters_of(*model));
  }
  return out;
}

struct Reference {
  std::vector<double> start;
  Trajectory trajectory;
};

std::vector<double> read_numbers(std::ifstream& file, std::size_t count) {
  std::vector<double> out(count);
  file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(count * sizeof(double)));
  if (!file) throw std::runtime_error("its file of parameters is too short");
  return out;
}

Reference ask_reference(const PeerTraining& training, const Scratch& scratch, const PythonFacts& python,
                        const std::vector<int>& reported) {
  write_peer_files(training.workload, scratch);
  const OpenedPeer peer = open_peer("python_float64", training, scratch, python);
  if (peer.answer.at("losses").is_null()) throw std::runtime_error("the imported network has dropout");
  const auto model = fresh_model(training.workload);
  const std::string path = scratch.path("float64_parameters");
  const json question = {
      {"do", "reference"}, {"report", reported}, {"parameters", parameter_names(*model)}, {"file", path}};
  Reference out;
  out.trajectory.losses =
      answer_of(*peer.process, question, kReferenceDeadline).at("losses").get<std::vector<double>>();
  const std::size_t count = parameters_of(*model).size();
  std::ifstream file(path, std::ios::binary);
  out.start = read_numbers(file, count);
  for (std::size_t i = 0; i < reported.size(); ++i) out.trajectory.parameters.push_back(read_numbers(file, count));
  return out;
}

Reference make_reference(const Session& session, const Scratch& scratch, const std::vector<int>& reported) {
  const PeerTraining training{*session.workload, session.comparison.peer_model};
  if (const std::string obstacle = peer_obstacle(training); !obstacle.empty())
    throw Error(ExitCode::kConfig, "--precision-drift compares with the training in Python: " + obstacle);
  const PythonFacts python = find_python();
  if (!python.problem.empty())
    throw Error(ExitCode::kResources, "--precision-drift needs Python for its float64 reference: " + python.problem);
  try {
    return ask_reference(training, scratch, python, reported);
  } catch (const std::runtime_error& error) {
    throw Error(ExitCode::kResources, std::string("--precision-drift: the float64 reference failed: ") + error.what());
  }
}

PrecisionDrift drift_of(const Session& session, const PrecisionRow& row, const Reference& reference,
                        const std::vector<int>& reported) {
  PrecisionDrift drift{row.name, 0, {}, {}};
  try {
    const Trajectory trajectory = train(*session.workload, row, reported);
    drift.skipped_steps = trajectory.skipped_steps;
    drift.points = drift_points(trajectory, reference.trajectory, reference.start, reported);
  } catch (const c10::Error& error) {  // an operator that this type lacks on this device
    drift.refusal = error.what_without_backtrace();
  }
  return drift;
}

}  // namespace

config::RunConfig for_drift(config::RunConfig config) {
  config.device.precision = Precision::kFp32;
  config.device.tf32 = false;
  config.host.dropout = 0;
  return config;
}

ordered_json measure_drift(const Session& session, const Scratch& scratch, int steps) {
  const std::vector<int> reported = reported_steps(steps);
  show_phase("the float64 reference in Python");
  const Reference reference = make_reference(session, scratch, reported);
  std::vector<PrecisionDrift> drifts;
  for (const PrecisionRow& row : rows_on(session.workload->setup.device)) {
    show_phase(std::string("training in ") + row.name);
    drifts.push_back(drift_of(session, row, reference, reported));
  }
  end_progress();
  ordered_json report = session.header;
  report["drift"] = drift_json(drifts, steps);
  return report;
}

}  // namespace esper::engine::bench
