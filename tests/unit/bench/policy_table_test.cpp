#include "engine/bench_policy/policy_table.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

namespace esper::test::policy_table_test {

using namespace esper::engine::bench;
using Catch::Matchers::ContainsSubstring;
using nlohmann::ordered_json;

namespace {

ordered_json report() {
  return ordered_json::parse(R"({
    "scenario": "policy", "environment": {"fingerprint": {"cpu": "a processor", "threads": 1}},
    "policy": [{"network": "folded", "nodes": 30, "p50_us": 2000, "p95_us": 2100.5, "p99_us": 2200, "warmup_ms": 7,
                "calls": 400}],
    "refused": [{"name": "pyg_compiled", "reason": "it has exited"}],
    "ratios": [{"nodes": 30, "pyg_eager/folded": 10.44}],
    "epoch": {"p50_ms": 1.5, "p95_ms": 1.75, "p99_ms": 2, "epochs": 360, "steps_per_epoch": 4, "seeds": 2},
    "epoch_lane": "auto",
    "steps": [{"steps_per_epoch": 4, "on_p50_us": 20, "off_p50_us": 17, "ratio": 1.15, "interval": [1.1, 1.2],
               "pairs": 9},
              {"steps_per_epoch": 256, "on_p50_us": 20, "off_p50_us": 19.9, "ratio": 1.005, "interval": [0.99, 1.02],
               "pairs": 9}]
  })");
}

}  // namespace

TEST_CASE("the table of the policy says what was measured, what was not, and how they compare") {
  const std::string text = policy_table(report());
  CHECK_THAT(text, ContainsSubstring("scenario policy, a processor, 1 thread"));
  CHECK_THAT(text, ContainsSubstring("2100.5"));
  CHECK_THAT(text, ContainsSubstring("pyg_compiled      not run: it has exited"));
  CHECK_THAT(text, ContainsSubstring("pyg_eager/folded at 30 nodes: p95 10.4 times"));
  CHECK_THAT(text, ContainsSubstring("epoch of 4 steps in lane auto: p50 1.500 ms") &&
                       ContainsSubstring("the network decides and 2 seeds grow"));
  CHECK_THAT(text, ContainsSubstring("step, 4 an epoch: p50 20.00 us"));
  CHECK_THAT(text,
             ContainsSubstring("step, 256 an epoch") && ContainsSubstring("ratio 1.005, interval 0.990 to 1.020"));
  CHECK_FALSE(text.ends_with('\n'));
}

}  // namespace esper::test::policy_table_test
