#include "config/facts/deepening.h"

#include <catch2/catch_test_macros.hpp>

#include "config/loading/load.h"

namespace esper::test::deepening_test {

using namespace esper::config;

TEST_CASE("deepening is a schedule: a line for each block, or for those that growth.slots names") {
  const auto lines = [](const std::string& growth) {
    std::vector<std::string> texts;
    const auto loaded =
        read_run_config_text("data: {kind: text, path: t}\nhost: {layers: 4, segments: 4}\ngrowth: " + growth, "f");
    CHECK(loaded.problems.empty());
    for (const auto& line : scheduled_germinations(loaded.config)) texts.push_back(line.text());
    return texts;
  };
  using Lines = std::vector<std::string>;
  CHECK(lines("{kind: modules}").empty());
  CHECK(lines("{kind: deepen}") ==
        Lines{"25%:r0c0=copy_block", "25%:r0c1=copy_block", "25%:r0c2=copy_block", "25%:r0c3=copy_block"});
  CHECK(lines("{kind: deepen, slots: [r0c1, r0c3], deepen: {at: 3, copies: 3, form: plain}}") ==
        Lines{"3:r0c1=copy_block_plain*3", "3:r0c3=copy_block_plain*3"});
}

}  // namespace esper::test::deepening_test
