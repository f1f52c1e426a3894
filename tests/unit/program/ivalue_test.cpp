#include "program/ivalue.h"

#include <ATen/ops/ones.h>

#include <catch2/catch_test_macros.hpp>

namespace esper::test::ivalue_test {

using namespace esper;
using namespace esper::program;

namespace {

const NameTensor kNoNames = [](const at::Tensor&) { return kNoValue; };

}  // namespace

TEST_CASE("a program names the type of a device, not which card of it") {
  for (const char* device : {"cuda", "cuda:0", "cuda:1"}) {
    const Argument argument = to_argument(c10::Device(device), kNoNames);
    CHECK(std::get<DeviceArgument>(argument).name == "cuda");
  }
  CHECK(std::get<DeviceArgument>(to_argument(c10::Device("cpu"), kNoNames)).name == "cpu");
}

TEST_CASE("an undefined tensor fits where the schema wants one, and arrives as such") {
  // Its attn_bias is Tensor, not Tensor?, and undefined without a bias.
  const auto op = find_operator("aten::_scaled_dot_product_efficient_attention_backward");
  REQUIRE(op);
  const auto& schema = op->schema().arguments()[4];
  REQUIRE(schema.name() == "attn_bias");
  REQUIRE(schema.type()->kind() == c10::TypeKind::TensorType);
  const Argument absent = to_argument(c10::IValue(at::Tensor()), kNoNames);
  CHECK(check_type(absent, schema));
  const c10::IValue value = to_ivalue(absent, schema, {});
  REQUIRE(value.isTensor());
  CHECK_FALSE(value.toTensor().defined());
}

}  // namespace esper::test::ivalue_test
