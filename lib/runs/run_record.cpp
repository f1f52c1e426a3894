#include "runs/run_record.h"

namespace esper::runs {

std::optional<double> figure_of(const Validation& validation, const std::string& metric) {
  const auto found = validation.figures.find(metric);
  return found == validation.figures.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace esper::runs
