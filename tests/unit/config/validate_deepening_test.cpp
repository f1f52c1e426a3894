#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "config/loading/load.h"

namespace esper::test::validate_deepening_test {

using namespace esper::config;
using Catch::Matchers::StartsWith;

namespace {

const std::string kText = "data: {kind: text, path: t}\n";
const std::string kDecoder = kText + "host: {layers: 4, segments: 4}\n";

}  // namespace

TEST_CASE("what deepening cannot do is reported with the field and the way out") {
  struct Case {
    std::string text, expected;  // expected: how the only problem starts; empty: none
  };
  const Case c = GENERATE(
      Case{kDecoder + "growth: {kind: deepen}", ""},
      Case{"data: {kind: cifar10, path: c}\nhost: {kind: cnn, residual_blocks: 1}\ngrowth: {kind: deepen}", ""},
      Case{kDecoder + "policy: {kind: none}\ngrowth: {kind: deepen}", ""},
      Case{kDecoder + "growth: {kind: deepen, deepen: {at: 9}}", ""},
      Case{"growth: {kind: deepen}", "growth.kind: deepen finds no block to copy: the blocks of kind mlp are not"},
      Case{"host: {kind: linear}\ngrowth: {kind: deepen}", "growth.kind: deepen finds no block to copy: the host has"},
      Case{"data: {kind: cifar10, path: c}\nhost: {kind: cnn}\ngrowth: {kind: deepen}",
           "growth.kind: deepen finds no block to copy: the host's block before it has no residual connection"},
      Case{kDecoder + "growth: {kind: deepen, deepen: {at: soon}}",
           "growth.deepen.at: \"soon\" is neither an epoch, 1 to 1000000, nor a whole percentage"},
      Case{kDecoder + "growth: {kind: deepen, deepen: {at: 10}}",
           "growth.deepen.at: 10 is after epoch 10 of 10, and nothing is grown after the last epoch"},
      Case{kDecoder + "growth: {kind: deepen, deepen: {copies: 0}}", "growth.deepen.copies: "},
      Case{kDecoder + "growth: {kind: deepen, composition: gate}",
           "growth.composition: with gate the network with its copies never becomes the deeper network"},
      Case{kDecoder + "growth: {kind: deepen, max_seeds: 3}",
           "growth.max_seeds: growth.kind deepen copies 4 blocks at once; set it to 4"},
      Case{kDecoder + "growth: {kind: deepen, gates: {evidence: control}}",
           "growth.gates.evidence: with control seeds grow one at a time, and growth.kind deepen copies 4 blocks"},
      Case{kDecoder + "growth: {kind: deepen, slots: [r0c1], gates: {evidence: control}}", ""},
      Case{kDecoder + "growth: {kind: deepen, blueprints: [mlp]}",
           "growth.blueprints: growth.kind deepen grows copy_block, and this has mlp; "},
      Case{kDecoder + "growth: {kind: deepen}\npolicy: {kind: heuristic}",
           "policy.kind: growth.kind deepen is carried out by schedule, and this is heuristic"},
      Case{kDecoder + "growth: {kind: deepen}\npolicy: {schedule: [\"2:r0c1=copy_block\"]}",
           "policy.schedule[0]: r0c1 gets a copy by growth.kind deepen"},
      Case{kText + "host: {layers: 4, segments: 4, modules: [r0c1=mlp]}\ngrowth: {kind: deepen}",
           "host.modules[0]: r0c1 gets a copy by growth.kind deepen"});
  CAPTURE(c.text);
  const LoadedConfig loaded = read_run_config_text(c.text + "\n", "f");
  if (c.expected.empty()) {
    CHECK(loaded.problems.empty());
  } else {
    REQUIRE(loaded.problems.size() == 1);
    CHECK_THAT(loaded.problems[0].path + ": " + loaded.problems[0].text, StartsWith(c.expected));
  }
}

}  // namespace esper::test::validate_deepening_test
