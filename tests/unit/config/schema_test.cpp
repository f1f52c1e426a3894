#include "config/writing/schema.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "config/fields/field_table.h"
#include "support/committed_file.h"

namespace esper::test::schema_test {

using namespace esper::base;
using namespace esper::config;
using esper::test::check_committed_file;

TEST_CASE("configs/schema.json is what the fields say") {
  check_committed_file("configs/schema.json", config_json_schema().dump(2) + "\n");
}

TEST_CASE("docs/config.md is what the fields say") { check_committed_file("docs/config.md", config_markdown()); }

TEST_CASE("the schema describes every field and allows no other") {
  RunConfig config;
  const nlohmann::ordered_json schema = config_json_schema();
  for (const FieldRow& row : field_table(config)) {
    nlohmann::ordered_json::json_pointer at;
    for (std::size_t from = 0; from <= row.path.size();) {
      const std::size_t dot = std::min(row.path.find('.', from), row.path.size());
      at = at / "properties" / row.path.substr(from, dot - from);
      from = dot + 1;
    }
    CAPTURE(row.path);
    REQUIRE(schema.contains(at));
    CHECK(schema[at]["description"] == std::string(row.help));
    CHECK((row.is_section() ? schema[at]["additionalProperties"] == false : schema[at].contains("default")));
  }
  CHECK(schema["additionalProperties"] == false);
}

}  // namespace esper::test::schema_test
