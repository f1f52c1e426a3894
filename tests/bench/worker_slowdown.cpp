// How much slower an eager training step on this thread is while the compile worker compiles than just before and after
// it, with as many cores as the machine has. Prints one JSON line for each load: the median over rounds of
// (time of a step while compiling) / (time of a step around it), the quartiles, and the same of idle against idle: what
// the machine's own noise makes of it. Ends with 1 if a median is above 1.10 and the noise is below a tenth of that.

#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/relu.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "unit/program_compile/worker_fixture.h"

namespace {

using namespace esper;
using std::chrono::milliseconds;

constexpr int kRounds = 9;
constexpr double kLimit = 1.10;
constexpr base::Duration kIdleWindow = milliseconds(700);

// Two layers, trained by hand.
struct Load {
  const char* name;
  std::int64_t inputs, hidden, outputs, batch;
};

class Training {
 public:
  explicit Training(const Load& load)
      : first_(parameter({load.hidden, load.inputs})),
        second_(parameter({load.outputs, load.hidden})),
        inputs_(at::rand({load.batch, load.inputs})),
        targets_(at::randint(load.outputs, {load.batch}, at::kLong)) {}

  void step() {
    const auto hidden = at::relu(at::linear(inputs_, first_));
    at::cross_entropy_loss(at::linear(hidden, second_), targets_).backward();
    const at::NoGradGuard no_grad;
    for (at::Tensor* weight : {&first_, &second_}) {
      weight->sub_(weight->grad(), 1e-3);
      weight->mutable_grad().reset();
    }
  }

  // Microseconds of a step, while `goes_on` says so.
  template <class GoesOn>
  double step_us(const GoesOn& goes_on) {
    const auto begin = clock_.now();
    std::int64_t steps = 0;
    do {
      step();
      ++steps;
    } while (goes_on());
    return std::chrono::duration<double, std::micro>(clock_.now() - begin).count() / static_cast<double>(steps);
  }

  double idle_us() {
    const auto end = clock_.now() + kIdleWindow;
    return step_us([&] { return clock_.now() < end; });
  }

 private:
  static at::Tensor parameter(at::IntArrayRef sizes) { return at::rand(sizes).mul_(0.02).requires_grad_(true); }

  const base::Clock clock_;
  at::Tensor first_, second_, inputs_, targets_;
};

// Another program each time, so that nothing is found in a cache.
program::CompileRequest request(int n) {
  program::CompileRequest made;
  const std::string width = std::to_string(64 + n);
  made.source = "import torch\nINPUTS = [((" + width + ", " + width + "), (" + width +
                ", 1), torch.float32, \"cpu\")]\ndef step(a0):\n    aten = torch.ops.aten\n    t = a0\n"
                "    for _ in range(6):\n"
                "        t = aten.mul.Tensor(aten.tanh.default(aten.mm.default(t, a0)), 0.5)\n"
                "    aten.sub_.Tensor(a0, t)\n    return (aten.sum.default(t),)\n";
  made.key = program::cache_key({made.source, "", "", "", 1, "", ""});
  return made;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// False: the compilation failed, or the training was slowed too much.
bool run(const Load& load, program::Compiler& compiler, int& requests) {
  Training training(load);
  training.idle_us();  // warm
  std::vector<double> ratios, noise;
  for (int round = 0; round < kRounds; ++round) {
    const double before = training.idle_us();
    const auto submitted = request(++requests);
    compiler.submit(submitted);
    std::optional<program::CompileOutcome> outcome;
    const double busy = training.step_us([&] { return !(outcome = compiler.poll(submitted.key)); });
    if (outcome->failure) return std::printf("not compiled: %s\n", outcome->reason.c_str()), false;
    const double after = training.idle_us();
    ratios.push_back(2 * busy / (before + after));
    noise.push_back(after / before);
  }
  std::ranges::sort(ratios);
  double spread = 0;
  for (const double ratio : noise) spread = std::max(spread, std::abs(ratio - 1));
  const bool noisy = spread > kLimit - 1;
  const bool slow = median(ratios) > kLimit;
  std::printf(
      "{\"load\": \"%s\", \"slowdown\": %.3f, \"quartiles\": [%.3f, %.3f], \"idle_ratio\": %.3f, "
      "\"largest_idle_change\": %.3f, \"verdict\": \"%s\"}\n",
      load.name, median(ratios), ratios[kRounds / 4], ratios[kRounds - 1 - kRounds / 4], median(noise), spread,
      !slow   ? "within 1.10"
      : noisy ? "not judged: the machine is too noisy"
              : "above 1.10");
  std::fflush(stdout);
  return !slow || noisy;
}

}  // namespace

int main() {
  at::set_num_threads(1);
  program::Service service;
  service.settings.priority = program::WorkerPriority::kBackground;
  auto& compiler = service.start();
  int requests = 0;
  // The worker's start, precompiled headers, and what the worker does after its first program.
  for (int i = 0; i < 2; ++i) {
    const auto first = request(++requests);
    compiler.submit(first);
    const auto outcome = compiler.wait(first.key, std::chrono::minutes(5));
    if (!outcome || outcome->failure) return std::printf("no worker: %s\n", outcome ? outcome->reason.c_str() : ""), 1;
  }
  bool good = true;
  for (const Load& load : {Load{"linear", 16, 16, 4, 4}, Load{"mlp in cache", 64, 64, 64, 32},
                           Load{"mlp in memory", 784, 1024, 256, 128}}) {
    good = run(load, compiler, requests) && good;
  }
  return good ? 0 : 1;
}
