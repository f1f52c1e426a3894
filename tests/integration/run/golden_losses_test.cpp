// Two small runs whose losses are known: a change of one bit is seen where torch and processor are the same.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "run_record.h"
#include "run_room.h"
#include "support/committed_file.h"

namespace esper::test::golden_losses_test {

using namespace esper::test;

namespace {

// libtorch, the instruction set of its kernels, and the processor's maker, by which BLAS libraries choose theirs:
// within one such class losses repeat to the last bit.
std::string machine_class() {
  const auto facts = json_of(run_esper({"doctor", "--json"}));
  const auto& torch = facts["torch"];
  const auto model = facts["cpu"]["model"].get<std::string>();
  return "# libtorch " + torch["version"].get<std::string>() + ", " + torch["cpu_capability"].get<std::string>() +
         ", " + model.substr(0, model.find(' ')) + "\n";
}

// "epoch train-loss validation-loss", one line an epoch, every digit.
std::string losses_of(const std::filesystem::path& run) {
  std::string text;
  for (const auto& packet : packets_of(run)) {
    std::map<std::string, double> values;
    for (const auto& metric : packet["metrics"]) values[metric["name"]] = metric["value"];
    if (!values.contains("tolaria.training.loss")) continue;
    char line[96];
    std::snprintf(line, sizeof line, "%.0f %.17g %.17g\n", values["tolaria.epochs.total"],
                  values["tolaria.training.loss"], values["tolaria.validation.loss"]);
    text += line;
  }
  return text;
}

void check_close(const std::string& got, const std::string& expected) {
  std::istringstream ours(got), theirs(expected);
  double a = 0, b = 0;
  int count = 0;
  for (; ours >> a && theirs >> b; ++count) CHECK(std::abs(a - b) <= 1e-4 * std::abs(b));
  CHECK(count >= 15);
  CHECK(ours.eof());
  CHECK((theirs >> b).fail());
}

}  // namespace

TEST_CASE("losses are those that were approved") {
  struct Case {
    const char* name;
    Words assignments;
  };
  const Case c = GENERATE(Case{"reference", {}}, Case{"digits", {"epochs=5"}});
  CAPTURE(c.name);
  const RunRoom room;
  const std::string config = std::string(ESPER_SOURCE_DIR "/configs/run/") + c.name + ".yaml";
  const Finished finished =
      train(config, room.run("run"),
            c.assignments + Words{"step.lane=eager", "device.kind=cpu", "device.threads=1", "telemetry.console=none"});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);

  const std::string header = machine_class();
  const std::string losses = losses_of(room.run("run"));
  const std::string path = std::string("baselines/losses/") + c.name + ".txt";
  const std::string approved = contents_of(std::string(ESPER_SOURCE_DIR "/") + path);
  const std::string approved_header = approved.substr(0, approved.find('\n') + 1);
  if (approved.empty() || approved_header == header) {
    check_committed_file(path, header + losses);
    return;
  }
  std::cout << c.name << ": this machine is \"" << header.substr(2, header.size() - 3) << "\", the baseline \""
            << approved_header.substr(2, approved_header.size() - 3) << "\"; losses are compared to 1e-4, relative\n";
  check_close(losses, approved.substr(approved_header.size()));
}

}  // namespace esper::test::golden_losses_test
