#include "data/files/target_number.h"

#include <cmath>

namespace esper::data {

std::string target_problem(double value, config::Task task) {
  if (!std::isfinite(static_cast<float>(value))) return "the target is not a finite number";
  if (task == config::Task::kMultilabel && value != 0 && value != 1) {
    return "a target of task multilabel must be 0 or 1";
  }
  return "";
}

}  // namespace esper::data
