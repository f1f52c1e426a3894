#include "kasmina/seed/seed.h"

#include <algorithm>

#include "base/error.h"
#include "kasmina/seed/lifecycle.h"
#include "kasmina/seed/widening.h"
#include "leyline/seed_id.h"

namespace esper::kasmina {

using config::Composition;
using config::SeedTraining;
using leyline::Stage;

namespace {

constexpr double kClosed = 0, kOpen = 1;

std::optional<double> points_between(std::optional<double> high, std::optional<double> low) {
  if (!high || !low) return std::nullopt;
  return 100.0 * (*high - *low);
}

SeedScalars make_scalars(torch::Device device) {
  const auto scalar = [&] { return at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(device)); };
  return {scalar(), scalar(), scalar(), scalar()};
}

// The seed's output and gate, in the host's precision: a graft must not change the dtype of the feature.
Features features_at(const Seed& seed, const torch::Tensor& host, const torch::Tensor& input, Mode mode) {
  const auto type = host.scalar_type();
  Features features{host, input, seed.module.forward(input, mode).to(type), {}};
  if (seed.composition == Composition::kGate) {
    features.gate = learned_gate(seed.shape.kind, input, seed.gate_weight, seed.gate_bias).to(type);
  } else if (seed.composition == Composition::kChannel) {
    features.gate = channel_gate(seed.shape.kind, host, seed.gate_weight).to(type);
  } else if (seed.composition == Composition::kConfidence) {
    features.gate = confidence_gate(seed.shape.kind, features.seed).to(type);
  }
  return features;
}

struct Paths {
  const torch::Tensor &host, &seed;  // equal in value
};

torch::Tensor blend(const Seed& seed, const Paths& paths, Mode mode) {
  const auto& scalars = seed.scalars;
  auto features = features_at(seed, paths.host, scale_gradient(paths.seed, scalars.isolation_gate), mode);
  features.seed = scale_gradient(features.seed, scalars.training_gate);
  if (features.gate.defined()) features.gate = scale_gradient(features.gate, scalars.training_gate);
  return compose(seed.composition, features, scalars.alpha) +
         straight_through(seed.composition, features, scalars.straight_through);
}

void add_gate(Seed& seed, ModuleScope scope) {
  const std::int64_t channels = seed.shape.channels;
  if (seed.composition == Composition::kGate) {
    seed.gate_weight = scope.parameter("weight", {channels}, kZeros);
    seed.gate_bias = scope.parameter("bias", {channels}, kZeros);
  } else if (seed.composition == Composition::kChannel) {
    seed.gate_weight = scope.parameter("weight", {channels}, kOnes);
  }
}

}  // namespace

ScalarValues scalar_values(const SeedMode& mode, const config::GrowthConfig& growth) {
  const auto& [stage, training, alpha] = mode;
  ESPER_CHECK(holds_seed(stage), "a stage without a seed has no scalars");
  const double closed = growth.isolate ? kClosed : kOpen;
  const double blending = fades(growth.composition) ? kOpen : closed;
  if (alpha.mode == AlphaMode::kDown) return {alpha.value, 0, closed, 0};
  switch (stage) {
    case Stage::kGerminated:
      return {0, 0, closed, 0};
    case Stage::kTraining:
      if (training == SeedTraining::kStraightThrough) return {0, 1, closed, 1};
      if (training == SeedTraining::kShadow) return {0, 0, kClosed, 1};
      [[fallthrough]];
    case Stage::kBlending:
    case Stage::kShadowing:
      return {alpha.value, 0, blending, 1};
    case Stage::kFossilized:  // below 1 where the run ended while it was blended in
      return {alpha.value, 0, kOpen, 1};
    default:
      return {1, 0, kOpen, 1};
  }
}

ScalarValues scalar_values(const Seed& seed, Stage stage, const config::GrowthConfig& growth) {
  return scalar_values({stage, seed.training, seed.alpha}, growth);
}

AlphaController alpha_on_entry(const Seed& seed, Stage to) {
  AlphaController alpha = seed.alpha;
  const bool starts = to == Stage::kTraining && seed.training == SeedTraining::kBlended;
  const bool is_blended = alpha.mode == AlphaMode::kUp || alpha.value == seed.schedule.target;
  if (starts || (to == Stage::kBlending && !is_blended)) {
    retarget(alpha, seed.schedule.target, seed.schedule.ticks);
    tick(alpha);
  }
  if (to == Stage::kProbationary) return hold_alpha(alpha.curve, 1);
  return alpha;
}

void write_scalars(const SeedScalars& scalars, const ScalarValues& values) {
  const at::NoGradGuard no_grad;
  scalars.alpha.fill_(values.alpha);
  scalars.straight_through.fill_(values.straight_through);
  scalars.isolation_gate.fill_(values.isolation_gate);
  scalars.training_gate.fill_(values.training_gate);
}

torch::Tensor compose_groups(Composition kind, const Features& flat, const AlphaBranches& branches) {
  const bool alike = !branches.parents.defined();
  // Rows by group: alike [groups in, 1, rows of one group, ...], so that alphas part them; else [groups out, rows,
  // ...].
  const auto grouped = [&](const torch::Tensor& rows) {
    const auto groups = rows.unflatten(0, {branches.groups_in, -1});
    return alike ? groups.unsqueeze(1) : groups.index_select(0, branches.parents);
  };
  const auto host = grouped(flat.host);
  const Features features{host, host, grouped(flat.seed), flat.gate.defined() ? grouped(flat.gate) : flat.gate};
  std::vector<std::int64_t> shape(static_cast<std::size_t>(host.dim()), 1);
  shape[alike ? 1 : 0] = branches.alphas.numel();
  const auto alpha = branches.alphas.to(flat.host.scalar_type()).view(shape);
  return compose(kind, features, alpha).flatten(0, alike ? 2 : 1);
}

torch::Tensor apply_seed(const Seed& seed, const torch::Tensor& feature, const AlphaBranches& branches) {
  return compose_groups(seed.composition, features_at(seed, feature, feature, Mode::kEvaluate), branches);
}

std::optional<double> SeedRecord::improvement_points() const {
  if (!accuracy) return std::nullopt;
  return points_between(std::max(*accuracy, accuracy_at_full_alpha.value_or(*accuracy)), accuracy_at_stage_start);
}

std::optional<double> SeedRecord::shadow_points() const { return points_between(accuracy_at_full_alpha, accuracy); }
std::optional<double> SeedRecord::contribution_points() const { return points_between(accuracy, accuracy_without); }

std::string seed_name(std::uint32_t number) { return leyline::seed_id_of(number); }

Seed make_seed(const SeedOrigin& origin, const config::GrowthConfig& growth, std::uint64_t run_seed,
               torch::Device device) {
  Seed seed;
  seed.number = origin.number;
  seed.id = seed_name(origin.number);
  seed.kind = origin.kind;
  seed.shape = origin.site.shape;
  seed.composition = growth.composition;
  seed.training = is_widening(seed) ? SeedTraining::kBlended : growth.training;
  seed.module = build_seed(origin.kind, origin.site, seed.id, run_seed, device);
  const ModuleScope scope(seed.module.tensors, seed.id, run_seed, device);
  if (!is_widening(seed)) add_gate(seed, scope.child("blend_gate"));
  seed.schedule = origin.schedule;
  seed.alpha = hold_alpha(origin.schedule.curve, 0);
  seed.scalars = make_scalars(device);
  write_scalars(seed.scalars, scalar_values(seed, Stage::kGerminated, growth));
  return seed;
}

void drop_tensors(Seed& seed) {
  seed.module = {};
  seed.gate_weight = seed.gate_bias = torch::Tensor();
  seed.scalars = {};
  seed.folded = true;
}

torch::Tensor apply_seed(const Seed& seed, const torch::Tensor& feature, Mode mode) {
  if (seed.folded) return feature;
  if (at::GradMode::is_enabled()) return blend(seed, {feature, feature}, mode);
  return compose(seed.composition, features_at(seed, feature, feature, mode), seed.scalars.alpha);
}

torch::Tensor apply_whole_seed(const Seed& seed, const torch::Tensor& feature, Mode mode) {
  return feature + full_change(seed.composition, features_at(seed, feature, feature, mode));
}

SlotTap tap_seed(const Seed& seed, const torch::Tensor& feature, Mode mode) {
  SlotTap tap{at::alias(feature), at::alias(feature), {}, {}, seed.scalars.isolation_gate};
  tap.output = blend(seed, {tap.host_path, tap.seed_path}, mode);
  tap.change = tap.output.detach() - feature.detach();
  return tap;
}

}  // namespace esper::kasmina
