#include "tolaria/state/control_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/text/json_fields.h"
#include "step/model.h"

namespace esper::tolaria {
namespace {

using kasmina::NamedTensor;
using nlohmann::json;

std::string tensor_id(const std::string& seed_id, const char* what) {
  return fmt::format("{}{}.{}", step::kRunTensors, seed_id, what);
}

torch::Tensor tensor_named(const std::vector<NamedTensor>& tensors, const std::string& id) {
  const auto found = std::ranges::find(tensors, id, &NamedTensor::id);
  return found == tensors.end() ? torch::Tensor() : found->tensor;
}

bool is_table(const torch::Tensor& tensor) {
  return tensor.defined() && tensor.dim() == 2 && tensor.scalar_type() == torch::kFloat32;
}

}  // namespace

json to_json(const ControlRecord& record) {
  json seeds = json::object();
  for (const auto& [id, control] : record.seeds) {
    seeds[id] = {
        {"compared", control.compared}, {"others", control.others}, {"learning_rates", control.learning_rates}};
  }
  return {{"steps", record.steps}, {"took_ms", record.took_ms}, {"seeds", std::move(seeds)}};
}

ControlRecord control_record_from_json(const json& saved) {
  ControlRecord record;
  if (saved.is_null()) return record;
  record.steps = base::count_at<std::int64_t>(saved, "steps");
  if (saved.contains("took_ms")) record.took_ms = base::time_at(saved, "took_ms", std::chrono::milliseconds(1));
  for (const auto& [id, seed] : saved.at("seeds").items()) {
    SeedControl& control = record.seeds[id];
    control.compared = base::count_at<std::uint32_t>(seed, "compared");
    control.others = seed.at("others");
    control.learning_rates = seed.value("learning_rates", std::vector<double>());
  }
  return record;
}

std::vector<NamedTensor> control_tensors(const ControlRecord& record) {
  std::vector<NamedTensor> tensors;
  for (const auto& [id, control] : record.seeds) {
    tensors.push_back({tensor_id(id, "loss"), control.loss});
    tensors.push_back({tensor_id(id, "correct"), control.correct});
  }
  return tensors;
}

base::Expected<void> restore_tensors(ControlRecord& record, const std::vector<NamedTensor>& saved) {
  for (auto& [id, control] : record.seeds) {
    control.loss = tensor_named(saved, tensor_id(id, "loss"));
    control.correct = tensor_named(saved, tensor_id(id, "correct"));
    const bool has_rates = control.learning_rates.empty() || control.learning_rates.size() == control.epochs();
    const bool sound = is_table(control.loss) && is_table(control.correct) &&
                       control.loss.sizes() == control.correct.sizes() && control.compared < control.epochs() &&
                       has_rates;
    if (!sound) return base::failure("the figures of the control of " + id + " are missing or of another form");
  }
  return {};
}

}  // namespace esper::tolaria
