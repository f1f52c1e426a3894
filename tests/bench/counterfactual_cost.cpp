// What a counterfactual pass over four seeds, all 16 configurations, costs against a plain validation pass of the same
// network: one process, one thread, taking turns. Checks the answer, prints one JSON line per host, and fails where the
// median of the paired ratios is above what is allowed.

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "base/statistics.h"
#include "kasmina/network/network_stacked.h"
#include "support/models/grown_network.h"
#include "tolaria/evaluation/stacked_validation.h"

namespace {

using namespace esper;

constexpr double kAllowed = 6;
constexpr double kMaxDifference = 1e-4;
constexpr std::int64_t kMaxRows = config::CounterfactualConfig{}.max_rows;

struct Case {
  tests::GrownCase grown;
  std::int64_t batch = 0;
};

std::vector<Case> cases() {
  using config::HostKind;
  std::vector<Case> all(3);
  auto& [mlp, mlp_batch] = all[0];
  mlp = tests::grown_case("mlp_64_128x4", HostKind::kMlp, leyline::features_shape(64, 10), "mlp");
  mlp.host.hidden = {128, 128, 128, 128};
  mlp_batch = 64;
  auto& [cnn, cnn_batch] = all[1];
  cnn = tests::grown_case("cnn_3x32x32_4_blocks", HostKind::kCnn, leyline::image_shape(3, 32, 32, 10), "conv_heavy");
  cnn.host.blocks = cnn.host.pool_layers = 4;
  cnn.host.base_channels = 16;
  cnn_batch = 64;
  auto& [transformer, transformer_batch] = all[2];
  transformer = tests::grown_case("transformer_64x64_4_segments", HostKind::kTransformer, leyline::tokens_shape(64, 65),
                                  "attention");
  transformer.host.layers = transformer.host.segments = 4;
  transformer.host.embedding = 64;
  transformer.host.heads = 4;
  transformer_batch = 8;
  return all;
}

double thread_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

class Passes {
 public:
  explicit Passes(const Case& c)
      : network_(tests::grown_network(c.grown, config::Composition::kAdd, {1, 1, 1, 1})),
        plan_(kasmina::plan_stacked(network_->state(), tests::all_on_and_off(*network_))) {
    constexpr int kBatches = 4;
    for (int i = 0; i < kBatches; ++i) {
      batches_.push_back({tests::inputs_of(c.grown.sample, c.batch), tests::targets_of(c.grown.sample, c.batch)});
    }
  }

  tolaria::ValidationResult plain() const {
    return tolaria::validate(
        each(), [&](const torch::Tensor& x) { return network_->forward(x, kasmina::Mode::kEvaluate); }, {});
  }
  tolaria::StackedResult stacked() const { return tolaria::validate_stacked(each(), {*network_, plan_, kMaxRows}, {}); }

 private:
  tolaria::NextBatch each() const {
    return [this, next = std::size_t{0}]() mutable -> std::optional<step::Microbatch> {
      if (next == batches_.size()) return std::nullopt;
      return batches_[next++];
    };
  }

  std::unique_ptr<kasmina::Network> network_;
  kasmina::StackedPlan plan_;
  std::vector<step::Microbatch> batches_;
};

bool run(const Case& c, int rounds) {
  const Passes passes(c);
  const double off = std::abs(passes.stacked().loss.back() - passes.plain().loss);
  if (!(off < kMaxDifference)) {
    std::fprintf(stderr, "%s: as it runs, the stacked pass is %g off in its loss\n", c.grown.name.c_str(), off);
    return false;
  }
  std::vector<double> plain, stacked;
  for (int round = 0; round < rounds; ++round) {
    const double begin = thread_milliseconds();
    passes.plain();
    const double middle = thread_milliseconds();
    passes.stacked();
    plain.push_back(middle - begin), stacked.push_back(thread_milliseconds() - middle);
  }
  const auto ratio = base::paired_ratio(stacked, plain);
  std::printf(
      "{\"case\": \"%s\", \"plain_ms\": %.3f, \"stacked_ms\": %.3f, \"ratio\": %.3f, \"interval\": [%.3f, %.3f]}\n",
      c.grown.name.c_str(), base::median(plain), base::median(stacked), ratio.median, ratio.interval.low,
      ratio.interval.high);
  std::fflush(stdout);
  return ratio.median <= kAllowed;
}

}  // namespace

int main() {
  at::set_num_threads(1);
  bool all_within = true;
  for (const auto& c : cases()) all_within = run(c, 40) && all_within;
  return all_within ? 0 : 1;
}
