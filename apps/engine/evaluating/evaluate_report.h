#pragma once
// What `esper evaluate` says of a part of the data, as text and as JSON. Any thread.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tolaria/evaluation/validate.h"

namespace esper::engine {

struct EvaluatedData {
  std::string part;  // "validation"
  const tolaria::ValidationResult& result;
  std::vector<std::string> class_names;  // by class; empty where the data have none
};

// {PART: {loss, accuracy, ..., samples}, and what the task has of classes [{class, name, precision, recall, f1,
// targets, predictions}], confusion [row of a target's class], micro {...}, rmse}, added to `report`.
void add_figures(nlohmann::ordered_json& report, const EvaluatedData& evaluated);

// Lines: the figures, then a line per class, then the confusion matrix where it is
// small enough to read.
std::string figures_text(const EvaluatedData& evaluated);

}  // namespace esper::engine
