#include "program/interpreter.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch_test_macros.hpp>

namespace esper::program::interpreter_test {
namespace {

// batch_norm(x) of four channels, while it trains.
ModelProgram norm() {
  const auto model = parse_model_program(
      R"({"version": 1, "inputs": [["host.mean", "inout"], ["host.var", "inout"], ["input", "in"]],
          "values": [[6, 0, [4], [1]], [6, 0, [4], [1]], [6, 0, [61, 4], [4, 1]], [6, 0, [61, 4], [4, 1]]],
          "operations": [["aten::batch_norm", [["tensor", 2], ["none"], ["none"], ["tensor", 0], ["tensor", 1],
                          ["bool", true], ["real", 4591870180066957722], ["real", 4532020583610935537],
                          ["bool", false]], [["tensor", 3]]]],
          "expressions": [[1, 2, 0, 0, 1, 0], [1, 3, 0, 0, 1, 0]], "output": 3})");
  REQUIRE(model);
  return *model;
}

}  // namespace

TEST_CASE("a batch norm of an imported network takes one sample, and its statistics only from more") {
  const at::Tensor mean = at::zeros({4}), var = at::ones({4});
  const Interpreter interpreter(norm(), {{"host.mean", mean}, {"host.var", var}}, at::kCPU, {});
  const auto run = [&](std::int64_t samples) {
    Values values = interpreter.begin(at::randn({samples, 4}));
    interpreter.run(values, 0, interpreter.num_operations(), samples);
    return values[3];
  };
  CHECK(run(1).isfinite().all().item<bool>());
  CHECK(var.equal(at::ones({4})));
  CHECK(mean.equal(at::zeros({4})));
  CHECK(run(2).isfinite().all().item<bool>());
  CHECK_FALSE(var.equal(at::ones({4})));
  CHECK(var.isfinite().all().item<bool>());
}

}  // namespace esper::program::interpreter_test
