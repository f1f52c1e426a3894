#include "history/run_config.h"

#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "base/text/problem.h"
#include "config/yaml/yaml_document.h"
#include "support/temporary_folder.h"

namespace esper::test::run_config_test {

using namespace esper;

TEST_CASE("a run's configuration is read up to the limit of run files, and a larger one is a problem of its file") {
  const TemporaryFolder run;
  const auto write = [&](std::size_t bytes) {
    std::string text = "epochs: 7\n";
    while (text.size() < bytes) text += '\n';
    std::ofstream(run / "config.yaml", std::ios::binary) << text;
  };
  write(config::YamlLimits::kBytes);
  CHECK(history::read_config_of_run(run.path()).config.epochs == 7);
  for (const std::size_t more : {1, 2, 8 << 20}) {
    write(config::YamlLimits::kBytes + more);
    try {
      history::read_config_of_run(run.path());
      FAIL("read");
    } catch (const base::ConfigError& error) {
      CHECK(to_string(error.problems().at(0)) == run / "config.yaml" + ": larger than 1 MiB, the limit for a file");
    }
  }
}

}  // namespace esper::test::run_config_test
