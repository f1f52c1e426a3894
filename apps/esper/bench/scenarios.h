#pragma once
// The workloads of `esper bench` that come with Esper: the run files of configs/bench, inside the binary.

#include <span>
#include <string_view>

namespace esper {

struct Scenario {
  std::string_view name;  // of the file, without .yaml
  std::string_view text;
};

std::span<const Scenario> scenarios();

}  // namespace esper
