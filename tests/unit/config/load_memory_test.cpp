// Memory that runs out while a run file is read.
#include <catch2/catch_test_macros.hpp>
#include <stdexcept>
#include <string>

#include "config/loading/load.h"
#include "config/writing/write.h"
#include "support/faults/failing_new.h"

namespace esper::test::load_memory_test {

TEST_CASE("whichever allocation fails while a run file is read, it is an error of memory, and the next read is whole") {
  const std::string file = std::string(ESPER_SOURCE_DIR) + "/configs/run/digits.yaml";
  const auto whole = config::resolved_yaml(config::load_run_config(file, {}));
  const auto failed = fail_each_allocation([&] {
    if (config::resolved_yaml(config::load_run_config(file, {})) != whole)
      throw std::logic_error("another configuration");
  });
  CHECK(failed > 1000);
  CHECK(config::resolved_yaml(config::load_run_config(file, {})) == whole);
}

}  // namespace esper::test::load_memory_test
