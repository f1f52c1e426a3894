// What `esper data show` prints of a data set.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::data_show_test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("numbers of samples and targets are shown as the file has them") {
  const RunRoom room;
  std::string rows = "width,height,price\n";
  for (int i = 0; i < 10; ++i) rows += "0.126,-1e-05,0.3\n";
  const auto file = room.write("prices.csv", rows);
  const Finished shown = run_esper({"data", "show", file, "--set", "task=regression"});
  INFO(shown.err);
  REQUIRE(shown.exit_code == 0);
  CHECK_THAT(shown.out, ContainsSubstring("[0.126,-1e-05] -> [0.3]") && ContainsSubstring("0.3 to 0.3, mean 0.3"));
}

}  // namespace esper::test::data_show_test
