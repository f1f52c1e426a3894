#include "config/writing/free_fields.h"

#include <catch2/catch_test_macros.hpp>

#include "config/loading/load.h"

namespace esper::test::free_fields_test {

using namespace esper::config;

TEST_CASE("a run that is deepened at a percentage keeps its epochs, one at an epoch need not") {
  const auto fixed = [](const std::string& at) {
    return epochs_are_fixed(
        read_run_config_text("data: {kind: text, path: t}\ngrowth: {kind: deepen, deepen: {at: " + at + "}}", "f")
            .config);
  };
  CHECK(fixed("25%"));
  CHECK_FALSE(fixed("3"));
}

}  // namespace esper::test::free_fields_test
