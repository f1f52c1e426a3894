#include "esper/runs/run_text.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::run_text_test {

TEST_CASE("a figure has four decimals, and a large one few digits") {
  CHECK(figure_text(std::nullopt) == "-");
  CHECK(figure_text(0.87654) == "0.8765");
  CHECK(figure_text(-12.5) == "-12.5000");
  CHECK(figure_text(999'999.5) == "999999.5000");
  CHECK(figure_text(1e300) == "1e+300");
  CHECK(figure_text(-3.25e38) == "-3.25e+38");
  runs::RunRecord record;
  record.last = {3, {{"loss", 1e300}}};
  CHECK(run_page(record).find("epoch 3, loss 1e+300\n") != std::string::npos);
}

}  // namespace esper::test::run_text_test
