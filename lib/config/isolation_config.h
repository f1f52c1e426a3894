#pragma once
#include "config/field.h"

namespace esper::config {

// No gradient may flow back through the input of a seed that is isolated from the host.
struct IsolationConfig {
  double max_cosine = 1e-6;
  bool strict = false;

  template <class = void>
  static constexpr auto fields() {
    using C = IsolationConfig;
    return std::tuple{
        field("max_cosine", &C::max_cosine,
              "largest allowed cosine between the host gradient around an isolated seed and the gradient through it",
              between(0, 1)),
        field("strict", &C::strict, "cull a seed that violates its isolation; otherwise only report it")};
  }
};

}  // namespace esper::config
