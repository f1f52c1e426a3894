#include "device/rng.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>
#include <stdexcept>
#include <string>

#include "base/error.h"

namespace esper::device::rng_test {
namespace {

const c10::Device kCpu(c10::DeviceType::CPU);

// Expected values computed by hand in Python from the formula in rng.h: checkpoints and baselines rest on them.
TEST_CASE("derived seeds are the same on every machine") {
  CHECK(derive_seed(0, "") == 0x5B21F68FFA77F14CU);
  CHECK(derive_seed(1337, "host.head.weight") == 0x94953608117D2D0DU);
}

TEST_CASE("derived seeds differ by run and by id") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t run = 0; run < 100; ++run) {
    for (int slot = 0; slot < 100; ++slot) seen.insert(derive_seed(run, "r0c" + std::to_string(slot)));
  }
  CHECK(seen.size() == 100 * 100);
}

TEST_CASE("generators with one seed draw the same, and leave the default generator alone") {
  const auto before = rng_state(kCpu);
  const auto a = torch::randn({8}, make_generator(7));
  const auto b = torch::randn({8}, make_generator(7));
  const auto c = torch::randn({8}, make_generator(8));
  CHECK(torch::equal(a, b));
  CHECK_FALSE(torch::equal(a, c));
  CHECK(torch::equal(before.cpu, rng_state(kCpu).cpu));
}

TEST_CASE("seeding all resets the default generator") {
  seed_all(11);
  const auto first = torch::randn({8});
  CHECK_FALSE(torch::equal(first, torch::randn({8})));
  seed_all(11);
  CHECK(torch::equal(first, torch::randn({8})));
}

TEST_CASE("a restored state goes on with the same numbers, also between two halves of a normal pair") {
  seed_all(5);
  torch::randn({3});
  const auto state = rng_state(kCpu);
  CHECK_FALSE(state.cuda.defined());
  const auto expected = torch::randn({5});
  torch::randn({100});
  set_rng_state(kCpu, state);
  CHECK(torch::equal(expected, torch::randn({5})));
}

TEST_CASE("what is drawn while a state is kept changes nothing after it, also where an exception ends it") {
  seed_all(5);
  const auto expected = torch::randn({5});
  seed_all(5);
  {
    const KeptRngState kept(kCpu);
    torch::randn({100});
  }
  CHECK(torch::equal(expected, torch::randn({5})));
  seed_all(5);
  CHECK_THROWS_AS(
      [] {
        const KeptRngState kept(kCpu);
        torch::randn({100});
        throw std::runtime_error("a failure");
      }(),
      std::runtime_error);
  CHECK(torch::equal(expected, torch::randn({5})));
}

// A state that no generator takes, as on a GPU that is lost.
RngState broken_state() { return {torch::zeros({16}, torch::kByte), {}}; }

// Keeps such a state while it is destroyed, and counts the errors of that.
struct KeepsWhileDestroyed {
  int& errors;
  ~KeepsWhileDestroyed() {
    try {
      const KeptRngState kept(kCpu, broken_state());
    } catch (const base::Error&) {
      ++errors;
    }
  }
};

TEST_CASE("a kept state that cannot be put back is an error, but no second one where an exception ends it") {
  const auto keep = [] { const KeptRngState kept(kCpu, broken_state()); };
  CHECK_THROWS_AS(keep(), base::Error);
  const auto fail = [] {
    const KeptRngState kept(kCpu, broken_state());
    throw std::runtime_error("the GPU is lost");
  };
  CHECK_THROWS_WITH(fail(), "the GPU is lost");
}

TEST_CASE("a state that is kept while an exception unwinds around it reports its own error") {
  int errors = 0;
  const auto fail = [&] {
    const KeepsWhileDestroyed keeps{errors};
    throw std::runtime_error("a failure");
  };
  CHECK_THROWS_WITH(fail(), "a failure");
  CHECK(errors == 1);
}

TEST_CASE("a state that is none is a checkpoint error and changes nothing") {
  const auto before = rng_state(kCpu);
  const RngState broken = broken_state();
  try {
    set_rng_state(kCpu, broken);
    FAIL("accepted");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kCheckpoint);
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("random state of the CPU"));
  }
  CHECK(torch::equal(before.cpu, rng_state(kCpu).cpu));
}

}  // namespace
}  // namespace esper::device::rng_test
