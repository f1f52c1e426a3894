// Two runs of one file have the same bits in lane compiled, with several threads.
#include <catch2/catch_test_macros.hpp>

#include "integration/lanes/lane_run.h"
#include "support/patience.h"

namespace esper::test::same_bits_run_test {

using namespace esper::test;

namespace {

// Text has an embedding, whose rows get the gradients of all places with their character: Inductor adds them atomically
// unless it is told that the run is deterministic.
constexpr char kText[] = R"(
name: text
seed: 3
epochs: 4
device: {kind: cpu, threads: 2}
data: {kind: text, path: text.txt, context: 64, max_samples: 160, batch_size: 32, validation_fraction: 0.2, workers: 0}
host: {kind: transformer, layers: 1, segments: 1, embedding: 64, heads: 4}
training: {optimizer: {kind: adamw, lr: 0.002}}
growth: {enabled: false}
policy: {kind: none}
step: {lane: compiled}
telemetry: {console: none}
)";

std::string some_text() {
  std::string text;
  for (unsigned i = 0; i < 12'000; ++i) text += static_cast<char>('a' + (i * i / 7 + i / 3) % 26);
  return text;
}

}  // namespace

TEST_CASE("a text is trained in lane compiled with two threads, twice with the same bits") {
  need_python_with_torch();
  const CompilingRoom room;
  const auto config = room.write("text.yaml", kText);
  const auto text = room.write("text.txt", some_text());
  const auto run = [&](const std::string& name) {
    const auto finished =
        run_program(train_command(config, room.run(name), {"data.path=" + text}), room.environment(), kLongPatience);
    INFO(finished.err);
    REQUIRE(finished.exit_code == 0);
    CHECK(compiled_steps(room.run(name)) > 0);
    return record_of(room.run(name));
  };
  const auto compiling = run("compiling");  // later ones find the program
  for (const char* name : {"first", "second", "third"}) check_equal(run(name), compiling);
}

}  // namespace esper::test::same_bits_run_test
