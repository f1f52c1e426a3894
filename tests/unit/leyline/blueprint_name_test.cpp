#include "leyline/blueprint/blueprint_name.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::leyline::blueprint_name_test {
namespace {

TEST_CASE("a name is one module, or with a number several copies") {
  const auto one = BlueprintName::parse("conv_heavy"), three = BlueprintName::parse("copy_block*3");
  REQUIRE(one);
  CHECK(one->plain == "conv_heavy");
  CHECK(one->copies == 1);
  CHECK(one->text() == "conv_heavy");
  REQUIRE(three);
  CHECK(three->plain == "copy_block");
  CHECK(three->copies == 3);
  CHECK(three->text() == "copy_block*3");
  CHECK(BlueprintName::parse("copy_block*1")->text() == "copy_block");
  CHECK(BlueprintName::parse("copy_block*64"));
  CHECK(without_copies("copy_block*3") == "copy_block");
  CHECK(without_copies("mlp") == "mlp");
}

TEST_CASE("what is no number of copies is reported with the form that is") {
  for (const char* text : {"copy_block*", "copy_block*0", "copy_block*65", "copy_block*-1", "copy_block*2x",
                           "copy_block*2*2", "copy_block* 2", "copy_block*99999999999"}) {
    INFO(text);
    const auto name = BlueprintName::parse(text);
    REQUIRE_FALSE(name);
    CHECK(name.error().find("1 to 64; write it like copy_block*2") != std::string::npos);
  }
}

}  // namespace
}  // namespace esper::leyline::blueprint_name_test
