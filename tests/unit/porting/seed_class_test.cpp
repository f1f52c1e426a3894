#include "porting/python/seed_class.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "kasmina/blueprint/blueprint.h"

namespace esper::test::seed_class_test {

using namespace esper;
using leyline::FeatureKind;

TEST_CASE("every row of the catalogue has a class in Python, and no class is of another") {
  std::size_t classes = 0;
  for (const auto kind : {FeatureKind::kFeatures, FeatureKind::kImage, FeatureKind::kSequence}) {
    classes += porting::seed_classes(kind).size();
  }
  for (const auto& blueprint : kasmina::blueprints()) {
    INFO(kasmina::to_string(blueprint.fits) << " " << blueprint.name);
    const auto known = porting::seed_classes(blueprint.fits);
    CHECK(std::ranges::count(known, blueprint.name, &porting::SeedClass::blueprint) == 1);
  }
  CHECK(classes == kasmina::blueprints().size());
}

}  // namespace esper::test::seed_class_test
