#include "config/fields/other_names.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "config/fields/field_table.h"

namespace esper::test::other_names_test {

using namespace esper::config;

TEST_CASE("each other name is no key of the run file, and stands for a field or a section that there is") {
  RunConfig config;
  const auto rows = field_table(config);
  for (const auto& [name, field] : other_names()) {
    CAPTURE(name);
    CHECK(std::ranges::count(rows, field, &FieldRow::path) == 1);
    CHECK(std::ranges::none_of(rows, [&](const FieldRow& row) { return row.key() == name; }));
    CHECK(std::ranges::count(other_names(), name, &OtherName::name) == 1);
    CHECK(field_of_other_name(name) == field);
  }
  CHECK(field_of_other_name("epochs").empty());
}

}  // namespace esper::test::other_names_test
