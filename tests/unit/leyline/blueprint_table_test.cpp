#include "leyline/blueprint/blueprint_table.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::leyline::blueprint_table_test {
namespace {

FeatureShape image(std::int64_t channels, std::int64_t height, std::int64_t width) {
  return {.kind = FeatureKind::kImage, .channels = channels, .height = height, .width = width};
}

TEST_CASE("what is not known of a feature counts as enough") {
  const auto& conv = *find_blueprint_facts("conv_light", FeatureKind::kImage);
  CHECK(may_fit(conv, image(8, 0, 0)));
  CHECK(may_fit(conv, image(8, 1, 2)));
  CHECK_FALSE(may_fit(conv, image(8, 1, 1)));
  const auto& bottleneck = *find_blueprint_facts("bottleneck", FeatureKind::kImage);
  CHECK_FALSE(may_fit(bottleneck, image(8, 0, 0)));
  CHECK(may_fit(bottleneck, image(9, 0, 0)));
}

TEST_CASE("a row says in words why a feature is too small for it, and there is always a reason to give") {
  CHECK(check_fit(*find_blueprint_facts("lora", FeatureKind::kFeatures), {.channels = 8}).error() ==
        "rank 8 is not low for 8 channels");
  for (const auto& row : blueprint_table()) {
    for (const Least& least : {row.channels, row.positions, row.numbers}) {
      INFO(row.name);
      CHECK((least.count > 1) == !least.otherwise.empty());
    }
  }
}

TEST_CASE("a block that cannot be copied can be widened, and only copies come in numbers") {
  auto shape = image(8, 4, 4);
  shape.uncopied = "it is too good";
  const auto& copy = *find_blueprint_facts("copy_block", FeatureKind::kImage);
  const auto& widen = *find_blueprint_facts("widen", FeatureKind::kImage);
  CHECK(check_fit(copy, shape).error() == "it is too good");
  CHECK(may_fit(widen, shape));
  CHECK_FALSE(may_fit(widen, shape, 2));
  shape.uncopied = {};
  CHECK(may_fit(copy, shape, 2));
}

TEST_CASE("a feature's positions are its pixels or its tokens") {
  CHECK(FeatureShape{.channels = 3}.positions() == 1);
  CHECK(image(3, 4, 5).positions() == 20);
  CHECK_FALSE(image(3, 0, 0).positions().has_value());
  CHECK(FeatureShape{.kind = FeatureKind::kSequence, .channels = 3, .tokens = 7}.positions() == 7);
}

}  // namespace
}  // namespace esper::leyline::blueprint_table_test
