#pragma once
// The recorded step of a small model, and what compiles its program: with a compiler that fails.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lanes/lane/recording.h"
#include "lanes/shape/compile_queue.h"
#include "unit/lanes/failing_compiler.h"
#include "unit/lanes/lane_parts.h"

namespace esper::tests {

inline program::Program recorded_step(step::Model& model, std::span<const step::Microbatch> batch) {
  auto recorded = lanes::record_undone(model, batch, step::training_forward(model.network));
  if (!recorded) FAIL(recorded.error());
  return *std::move(recorded);
}

struct CompilingStep : FailingCompiler, LaneParts {
  program::Program recorded = recorded_step(*model, make_batches(c, 1));
  lanes::CompileQueue queue{services, figures};

  CompilingStep() { services.compile_service = &service; }

  lanes::Variant variant(const std::string& recipe,
                         program::CompileEffort effort = program::CompileEffort::kQuick) const {
    return {recipe, effort, service.key(recorded, recipe)};
  }
  // The values of an attribute of the events of that name, in order.
  std::vector<std::string> reported(std::string_view name, const std::string& attribute) const {
    std::vector<std::string> values;
    for (const auto& event : events) {
      if (event.description == name) values.push_back(event.attributes.at(attribute));
    }
    return values;
  }
};

}  // namespace esper::tests
