#include <array>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "support/faults/mutated.h"
#include "support/files.h"
#include "sweep/expand.h"
#include "sweep/sweep_file.h"

namespace esper::test::sweep_file_fuzz_test {

using namespace esper;
using namespace esper::sweep;

TEST_CASE("no mutation of a sweep file crashes the reader; what is accepted expands within the limits") {
  constexpr std::array<std::string_view, 24> kPieces{"..",
                                                     "[",
                                                     "]",
                                                     "{",
                                                     "}",
                                                     ":",
                                                     ", ",
                                                     "\n",
                                                     "\n  ",
                                                     "-",
                                                     "0",
                                                     "99999999",
                                                     "1e9",
                                                     "method: random\n",
                                                     "samples: 3\n",
                                                     "halving: {factor: 2}\n",
                                                     "min: ",
                                                     "max: ",
                                                     "scale: log",
                                                     "seed",
                                                     "values",
                                                     "~",
                                                     "\"",
                                                     "epochs"};
  const std::string good =
      "config: ../run/digits_static.yaml\nmethod: random\nsamples: 4\nseeds: 1..2\nparameters:\n"
      "  training.optimizer.lr: {min: 1e-3, max: 0.1, scale: log}\n  host.base_channels: {min: 4, max: 9}\n"
      "  data.batch_size: [32, 64]\n";
  std::mt19937_64 random(1337);
  int accepted = 0;
  for (int i = 0; i < 4'000; ++i) {
    const auto loaded =
        read_sweep_text(test::mutated(good, kPieces, 1, random), ESPER_SOURCE_DIR "/configs/sweep/f.yaml");
    if (!loaded.problems.empty()) continue;
    ++accepted;
    const auto trials = expand(loaded.sweep);
    REQUIRE_FALSE(trials.empty());
    REQUIRE(trials.size() <= SweepLimits::kJobs);
  }
  CHECK(accepted > 50);
}

}  // namespace esper::test::sweep_file_fuzz_test
