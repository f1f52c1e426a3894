// What train_step costs over the loop that one would write by hand, in one process, taking turns. Prints one JSON line
// per case: medians over rounds of the times, of the paired ratios and of the paired differences.
//   hand          forward, cross entropy, backward, SGD; no figures about the training
//   hand_metrics  the same with sums of loss, correct predictions and gradient norm on the device, read never

#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "kasmina/host/host.h"
#include "step/train_step.h"

namespace {

using namespace esper;

constexpr double kLr = 0.01;
constexpr double kMaxDifference = 1e-5;

struct Case {
  const char* name;
  config::HostConfig host;
  leyline::SampleShape sample;
  std::int64_t batch;
};

enum class Figures { kNone, kSums };
enum class Loop { kByHand, kTrainStep };

// A network with the means to step it, by hand or by train_step.
class Trainee {
 public:
  Trainee(const Case& c, Loop loop) : host_(kasmina::build_host(c.host, c.sample, 7, torch::kCPU)) {
    if (loop == Loop::kByHand) return;
    settings_.optimizer.lr = kLr;
    settings_.optimizer.momentum = 0;
    state_ = step::make_step_state(settings_, torch::kCPU);
    const kasmina::ParameterGroup group{"host", "host", host_.tensors.parameters};
    step::sync_groups(state_, settings_, std::span(&group, 1));
    forward_ = [this](const torch::Tensor& x, kasmina::SlotTaps*) { return forward(x); };
  }
  Trainee(const Trainee&) = delete;

  torch::Tensor forward(const torch::Tensor& x) const {
    return host_.forward(x, kasmina::Mode::kTrain, [](std::size_t, const torch::Tensor& feature) { return feature; });
  }

  void by_hand(const step::Microbatch& batch, Figures figures) {
    const torch::Tensor logits = forward(batch.inputs);
    const torch::Tensor loss = at::cross_entropy_loss(logits, batch.targets);
    loss.backward();
    at::NoGradGuard no_grad;
    if (figures == Figures::kSums) add_figures(batch, logits, loss);
    for (const auto& named : host_.tensors.parameters) {
      torch::Tensor parameter = named.tensor;
      parameter.sub_(parameter.grad(), kLr);
      parameter.mutable_grad().reset();
    }
  }

  void by_train_step(const step::Microbatch& batch) {
    step::train_step(state_, settings_, std::span(&batch, 1), forward_);
  }

  double difference(const Trainee& other) const {
    double worst = 0;
    for (std::size_t i = 0; i < host_.tensors.parameters.size(); ++i) {
      const torch::Tensor &a = host_.tensors.parameters[i].tensor, &b = other.host_.tensors.parameters[i].tensor;
      worst = std::max(worst, a.sub(b).abs().max().item<double>());
    }
    return worst;
  }

 private:
  void add_figures(const step::Microbatch& batch, const torch::Tensor& logits, const torch::Tensor& loss) {
    loss_sum_.add_(loss, batch.targets.size(0));
    correct_.add_(logits.argmax(1).eq(batch.targets).sum());
    std::vector<torch::Tensor> norms;
    for (const auto& named : host_.tensors.parameters) norms.push_back(named.tensor.grad().norm());
    norm_sum_.add_(at::stack(norms).norm());
    samples_ += batch.targets.size(0);
    ++steps_;
  }

  kasmina::Host host_;
  step::StepSettings settings_;
  step::StepState state_;
  step::TrainingForward forward_;
  torch::Tensor loss_sum_ = at::zeros({}, torch::kFloat64), norm_sum_ = at::zeros({}, torch::kFloat64);
  torch::Tensor correct_ = at::zeros({}, torch::kInt64);
  std::int64_t samples_ = 0, steps_ = 0;
};

step::Microbatch make_batch(const Case& c) {
  at::manual_seed(3);
  std::vector<std::int64_t> shape = {c.batch};
  if (c.sample.kind == leyline::SampleKind::kImage) {
    shape.insert(shape.end(), {c.sample.channels, c.sample.height, c.sample.width});
  } else {
    shape.push_back(c.sample.features);
  }
  return {at::randn(shape), at::randint(c.sample.num_classes, {c.batch}, torch::kInt64)};
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Processor time of this thread, which does all the work: other programs on the machine disturb it less than a clock.
double thread_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

template <class Step>
double microseconds(int steps, const Step& step) {
  const double start = thread_microseconds();
  for (int i = 0; i < steps; ++i) step();
  return (thread_microseconds() - start) / steps;
}

void check_answer(const Case& c, const step::Microbatch& batch) {
  Trainee hand(c, Loop::kByHand), ours(c, Loop::kTrainStep);
  for (int i = 0; i < 5; ++i) {
    hand.by_hand(batch, Figures::kSums);
    ours.by_train_step(batch);
  }
  const double difference = ours.difference(hand);
  if (difference < kMaxDifference) return;
  std::fprintf(stderr, "%s: train_step and the handwritten loop are %g apart after 5 steps\n", c.name, difference);
  std::exit(1);
}

void time_case(const Case& c, int rounds, int steps) {
  const step::Microbatch batch = make_batch(c);
  check_answer(c, batch);
  Trainee a(c, Loop::kByHand), b(c, Loop::kByHand), d(c, Loop::kTrainStep);
  std::vector<double> hand, figures, ours, ratio_hand, ratio_figures, over_hand, over_figures;
  for (int round = -rounds / 10; round < rounds; ++round) {
    // Taking turns at being first: whoever follows finds the caches as the one before left them.
    double h = 0, o = 0, f = 0;
    for (int turn = 0; turn < 3; ++turn) {
      const int who = (turn + round + rounds) % 3;
      if (who == 0) h = microseconds(steps, [&] { a.by_hand(batch, Figures::kNone); });
      if (who == 1) o = microseconds(steps, [&] { d.by_train_step(batch); });
      if (who == 2) f = microseconds(steps, [&] { b.by_hand(batch, Figures::kSums); });
    }
    if (round < 0) continue;
    hand.push_back(h), figures.push_back(f), ours.push_back(o);
    ratio_hand.push_back(o / h), ratio_figures.push_back(o / f);
    over_hand.push_back(o - h), over_figures.push_back(o - f);
  }
  std::printf(
      "{\"case\": \"%s\", \"hand_us\": %.2f, \"hand_metrics_us\": %.2f, \"train_step_us\": %.2f, "
      "\"ratio_hand\": %.4f, \"ratio_hand_metrics\": %.4f, \"over_hand_us\": %.2f, "
      "\"over_hand_metrics_us\": %.2f}\n",
      c.name, median(hand), median(figures), median(ours), median(ratio_hand), median(ratio_figures), median(over_hand),
      median(over_figures));
  std::fflush(stdout);
}

Case features(const char* name, config::HostKind kind, std::int64_t inputs, std::int64_t classes, std::int64_t batch) {
  Case c{name, {}, {}, batch};
  c.host.kind = kind;
  c.host.hidden = {128, 64};
  c.sample.kind = leyline::SampleKind::kFeatures;
  c.sample.features = inputs;
  c.sample.num_classes = classes;
  return c;
}

Case images(const char* name, std::int64_t edge, std::int64_t batch) {
  Case c{name, {}, {}, batch};
  c.host.kind = config::HostKind::kCnn;
  c.sample.kind = leyline::SampleKind::kImage;
  c.sample.channels = 3;
  c.sample.height = c.sample.width = edge;
  c.sample.num_classes = 10;
  return c;
}

}  // namespace

int main() {
  at::set_num_threads(1);
  time_case(features("linear_16_4_batch_4", config::HostKind::kLinear, 16, 4, 4), 500, 50);
  time_case(features("mlp_64_128_64_10_batch_64", config::HostKind::kMlp, 64, 10, 64), 200, 20);
  time_case(features("mlp_784_128_64_10_batch_128", config::HostKind::kMlp, 784, 10, 128), 100, 20);
  time_case(images("cnn_3x32x32_batch_32", 32, 32), 50, 1);
  return 0;
}
