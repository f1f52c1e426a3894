#include "tolaria/step_runner.h"

#include <algorithm>

#include "leyline/names.h"
#include "leyline/telemetry.h"
#include "tolaria/step_roots.h"

namespace esper::tolaria {
namespace {

using leyline::event;
using leyline::Lane;
using leyline::Level;
using namespace leyline::literals;

bool same_sizes(const StepPlan& plan, std::span<const Microbatch> microbatches) {
  if (plan.sizes.size() != 2 * microbatches.size()) return false;
  for (std::size_t i = 0; i < microbatches.size(); ++i) {
    if (microbatches[i].inputs.sizes() != plan.sizes[2 * i]) return false;
    if (microbatches[i].targets.sizes() != plan.sizes[2 * i + 1]) return false;
  }
  return true;
}

double milliseconds(leyline::Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

}  // namespace

StepRunner::StepRunner(Model& model, const leyline::StepConfig& config, torch::Device device, RunnerServices services)
    : model_(model), config_(config), device_(device), services_(std::move(services)) {
  check_lane(config, device);
  forward_ = training_forward(model_.network);
  figures_.warmup_remaining = config_.lane == Lane::kEager ? 0 : config_.compile.warmup_steps;
}

StepRunner::Preparing::Preparing(StepRunner& runner) : runner_(runner), begin_(runner.services_.clock.now()) {
  if (runner.services_.ledger != nullptr) scope_.emplace(*runner.services_.ledger, leyline::Owner::kCompile);
}

StepRunner::Preparing::~Preparing() {
  runner_.figures_.warmup_ms += milliseconds(runner_.services_.clock.now() - begin_);
}

void StepRunner::step(std::span<const Microbatch> microbatches, StepPlace place) {
  ++epoch_steps_;
  const bool only_eager = config_.lane == Lane::kEager && services_.log.empty();
  if (only_eager) return eager(microbatches);
  StepPlan& plan = plan_of(microbatches);
  if (!plan.noted) know_noted(plan, place.number);
  if (services_.log.empty() || !follow(plan, microbatches, place.number)) run_step(plan, microbatches, place);
  note_bits(plan, place.number);
}

void StepRunner::run_step(StepPlan& plan, Batch microbatches, StepPlace place) {
  if (config_.lane == Lane::kEager) return eager(microbatches);
  if (plan.warmup_left > 0) {
    figures_.warmup_remaining = --plan.warmup_left;
    return eager(microbatches);
  }
  if (!plan.recorded) {
    record(plan, microbatches);
    want_compiled(plan, microbatches);
    return challenge_uncompiled(plan, microbatches);
  }
  if (plan.compiling) take_compiled(plan, microbatches);
  if (!plan.challenger && !plan.incumbent && !plan.tried_uncompiled) challenge_uncompiled(plan, microbatches);
  if (plan.challenger) return try_challenger(plan, microbatches, place.left);
  run_unchallenged(plan, microbatches, place);
}

// Counted over the whole run, so that a resumed one compares at the same steps.
bool StepRunner::check_is_due(std::int64_t number) const {
  return config_.check_every > 0 && number > 0 && number % config_.check_every == 0;
}

void StepRunner::run_unchallenged(StepPlan& plan, Batch microbatches, StepPlace place) {
  if (plan.incumbent && check_is_due(place.number)) {
    if (compare_with_eager(*plan.incumbent, microbatches) == Verdict::kDiffers) plan.incumbent.reset();
    return;
  }
  const auto begin = plan.undecided ? services_.clock.now() : leyline::Duration();
  run_incumbent(plan, microbatches);
  if (!plan.undecided) return;
  const std::chrono::duration<double, std::micro> took = services_.clock.now() - begin;
  decide_on_compiling(plan, took.count(), place.left);
}

bool StepRunner::settled() const {
  return std::ranges::all_of(plans_, [](const auto& plan) {
    return plan->recorded && !plan->challenger && !plan->compiling && !plan->undecided;
  });
}

// A step of another structure or shape never meets a program of this one: this is asked before every launch.
StepPlan& StepRunner::plan_of(Batch microbatches) {
  const std::uint64_t structure = model_.network.structure_version();
  if (!plans_.empty() && plans_.front()->structure != structure) drop_plans();
  for (const auto& plan : plans_) {
    if (same_sizes(*plan, microbatches)) return *plan;
  }
  auto plan = std::make_unique<StepPlan>();
  plan->structure = structure;
  plan->warmup_left = config_.compile.warmup_steps;
  for (const Microbatch& microbatch : microbatches) {
    plan->sizes.push_back(microbatch.inputs.sizes().vec());
    plan->sizes.push_back(microbatch.targets.sizes().vec());
  }
  plan->shape = c10::str(plan->sizes);
  if (const auto known = bits_.find(plan->shape); known != bits_.end()) plan->noted = known->second;
  plans_.push_back(std::move(plan));
  return *plans_.back();
}

// What is being compiled for a structure that is gone is given up; what is compiled stays in the cache.
void StepRunner::drop_plans() {
  for (const auto& plan : plans_) {
    if (!plan->compiling) continue;
    services_.desk->cancel(plan->compiling->key);
    --figures_.pending;
  }
  plans_.clear();
}

void StepRunner::eager(Batch microbatches) {
  figures_.in_use = Lane::kEager;
  ran_.clear();
  ++figures_.steps[static_cast<std::size_t>(Lane::kEager)];
  train_step(model_.state, model_.settings, microbatches, forward_);
}

void StepRunner::record(StepPlan& plan, Batch microbatches) {
  const Preparing preparing(*this);
  plan.recorded = true;
  auto recorded = program::record(step_roots(model_, microbatches), [&] { eager(microbatches); });
  if (const auto* reason = std::get_if<std::string>(&recorded)) {
    ++figures_.refusals;
    tell(event("tolaria.lane_refused"_event, Level::kWarning,
               {{"lane", std::string(leyline::name_of(config_.lane))}, {"reason", *reason}}));
  } else {
    plan.program = std::move(std::get<program::Program>(recorded));
  }
}

void StepRunner::run_in(FastLane& lane, Batch microbatches) {
  figures_.in_use = lane.lane();
  ++figures_.steps[static_cast<std::size_t>(lane.lane())];
  const bool compiled = lane.lane() == Lane::kCompiled;
  if (compiled) ++epoch_compiled_steps_;
  ran_ = lane.key();
  try {
    lane.run(microbatches);
  } catch (const std::exception& error) {
    if (compiled) put_away_failed(lane, error.what());
    throw;
  }
}

void StepRunner::run_incumbent(StepPlan& plan, Batch microbatches) {
  if (!plan.incumbent) return eager(microbatches);
  run_in(*plan.incumbent, microbatches);
}

void StepRunner::note_epoch() {
  if (epoch_steps_ > 0 && epoch_compiled_steps_ == epoch_steps_) ++figures_.compiled_epochs;
  epoch_steps_ = epoch_compiled_steps_ = 0;
  figures_.graphs = *graphs_;
}

}  // namespace esper::tolaria
