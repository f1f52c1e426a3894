#include "step/optimizer.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::step::optimizer_test {
namespace {

using config::OptimizerConfig;
using config::OptimizerKind;

TEST_CASE("every optimizer has its row") {
  for (const auto& [kind, name] : names(OptimizerKind{})) {
    INFO(name);
    CHECK(optimizer_of(kind).kind == kind);
    CHECK(optimizer_of(kind).update != nullptr);
  }
  CHECK(optimizer_of(OptimizerKind::kSgd).family_index == 0);
  CHECK(optimizer_of(OptimizerKind::kAdamw).family_index == 2);
}

TEST_CASE("moments are kept where an update works with them") {
  OptimizerConfig config;
  config.momentum = 0;
  CHECK_FALSE(keeps_first_moments(config));
  config.momentum = 0.9;
  CHECK(keeps_first_moments(config));
  CHECK_FALSE(keeps_second_moments(config));
  config.kind = OptimizerKind::kAdamw;
  config.momentum = 0;
  CHECK(keeps_first_moments(config));
  CHECK(keeps_second_moments(config));
}

}  // namespace
}  // namespace esper::step::optimizer_test
