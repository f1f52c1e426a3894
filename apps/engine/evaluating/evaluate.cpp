// `esper evaluate`: a checkpoint's network on the test or validation data. Beside a run that is still going, too.

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/interrupt.h"
#include "base/names.h"
#include "base/text/standard_output.h"
#include "engine/commands.h"
#include "engine/evaluating/evaluate_report.h"
#include "engine/loaders.h"
#include "engine/measured_data.h"
#include "engine/saved_run.h"
#include "storage/confined_file_system.h"
#include "tolaria/evaluation/validation_pass.h"

namespace esper::engine {
namespace {

using nlohmann::ordered_json;

std::vector<float> values_of(const torch::Tensor& figures) {
  const auto* first = figures.const_data_ptr<float>();
  return {first, first + figures.numel()};
}

}  // namespace

int run(const EvaluateRequest& request) {
  const base::Interrupt interrupt;
  storage::ConfinedFileSystem files(request.run_dir, storage::Owner::kAnyone);
  const SavedRun saved = open_saved_run(files, request.run_dir, request.checkpoint);
  auto [setup, measured_part] = measured_data(request, saved);
  restore(setup, saved);
  const tolaria::AveragedModel averaged = averaged_model(setup, saved, kSameCommand);
  const bool testing = measured_part == EvaluatedPart::kTest;
  const auto loader = open_loader(setup, testing ? *setup.data.test : setup.data.validation, data::Order::kSequential);
  const auto per_sample = request.by_sample ? tolaria::PerSample::kKept : tolaria::PerSample::kNotKept;
  const auto result = tolaria::validation_pass(*setup.model, *loader, setup.device, per_sample);
  const std::string part(base::name_of(measured_part));
  // The run's own data may be gone.
  const auto& names = saved.preprocessing ? saved.preprocessing->class_names : setup.data.train.class_names;
  const EvaluatedData evaluated{part, result, names};
  ordered_json report = {{"run_dir", request.run_dir}, {"checkpoint", saved.path}, {"part", part}};
  add_figures(report, evaluated);
  if (request.by_sample) {
    const std::string metric(base::name_of(setup.config.training.metric));
    report["by_sample"] = {{"loss", values_of(result.by_sample.loss)}, {metric, values_of(result.by_sample.correct)}};
  }
  if (request.json) {
    base::write_json(report);
  } else {
    base::write_line(saved.path);
    base::write_line("part: " + part);
    base::write_text(figures_text(evaluated));
  }
  return 0;
}

}  // namespace esper::engine
