#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "leyline/config/field_table.h"
#include "leyline/config/schema.h"

using namespace esper::leyline;

namespace {

std::string committed(const std::string& path) {
  std::ifstream stream(ESPER_SOURCE_DIR "/" + path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("configs/schema.json is up to date") {
  INFO("to renew it: build/release/bin/esper config schema > configs/schema.json");
  CHECK(committed("configs/schema.json") == config_json_schema().dump(2) + "\n");
}

TEST_CASE("docs/config.md is up to date") {
  INFO("to renew it: build/release/bin/esper config schema --markdown > docs/config.md");
  CHECK(committed("docs/config.md") == config_markdown());
}

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
