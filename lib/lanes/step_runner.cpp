#include "lanes/step_runner.h"

#include <algorithm>
#include <limits>

#include "base/names.h"
#include "base/text/rounding.h"
#include "lanes/step_roots.h"
#include "lanes/structure.h"
#include "leyline/telemetry.h"

namespace esper::lanes {

using base::milliseconds;
using step::Microbatch;
using step::Model;
using step::train_step;
using step::training_forward;

namespace {

using config::Lane;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

using Numbers = std::span<const std::int64_t>;

// Takes the tensor's number of dimensions and its sizes off the front; false where they are others. A loop: for two or
// three numbers a call of memcmp takes longer than all of it.
bool take_sizes(Numbers& left, const torch::Tensor& tensor) {
  const at::IntArrayRef sizes = tensor.sizes();
  const std::size_t count = sizes.size();
  if (left.size() <= count || left[0] != static_cast<std::int64_t>(count)) return false;
  std::int64_t differ = 0;
  for (std::size_t i = 0; i < count; ++i) differ |= sizes[i] ^ left[i + 1];
  left = left.subspan(1 + count);
  return differ == 0;
}

bool same_sizes(const StepPlan& plan, std::span<const Microbatch> microbatches) {
  Numbers left = plan.sizes;
  for (const auto& [inputs, targets] : microbatches) {
    if (!take_sizes(left, inputs) || !take_sizes(left, targets)) return false;
  }
  return left.empty();
}

std::string shape_of(std::span<const Microbatch> microbatches) {
  std::vector<std::vector<std::int64_t>> sizes;
  for (const auto& [inputs, targets] : microbatches) {
    sizes.insert(sizes.end(), {inputs.sizes().vec(), targets.sizes().vec()});
  }
  return c10::str(sizes);
}

// Its lane runs and nothing is tried beside it.
bool is_settled(const StepPlan& plan, std::int64_t number) {
  const bool tried = plan.recorded && (!plan.is_follower() || plan.took_shared);
  return tried && plan.incumbent && !plan.challenger && !plan.compiling && !plan.undecided && number < plan.next_check;
}

}  // namespace

StepRunner::StepRunner(Model& model, const config::StepConfig& config, torch::Device device, RunnerServices services)
    : model_(model), config_(config), device_(device), services_(std::move(services)) {
  check_lane(config, device);
  forward_ = training_forward(model_.network);
  figures_.warmup_remaining = config_.lane == Lane::kEager ? 0 : config_.compile.warmup_steps;
}

StepRunner::Preparing::Preparing(StepRunner& runner) : runner_(runner), begin_(runner.services_.clock.now()) {
  if (runner.services_.ledger != nullptr) scope_.emplace(*runner.services_.ledger, base::Owner::kCompile);
}

StepRunner::Preparing::~Preparing() {
  runner_.figures_.warmup_ms += milliseconds(runner_.services_.clock.now() - begin_);
}

inline void StepRunner::note_ran(std::uint64_t bits, const std::string& key) {
  if (ran_bits_ == bits) return;
  ran_bits_ = bits;
  ran_ = key;
}

// A step of another structure or shape never meets a program of this one: this is asked before every launch.
inline StepPlan* StepRunner::known_plan(Batch microbatches) const {
  const std::uint64_t structure = model_.network.structure_version();
  for (const auto& plan : plans_) {
    if (plan->structure == structure && same_sizes(*plan, microbatches)) return plan.get();
  }
  return nullptr;
}

inline void StepRunner::run_now(FastLane& lane, Batch microbatches) {
  const Lane kind = lane.lane();
  figures_.in_use = kind;
  ++figures_.steps[static_cast<std::size_t>(kind)];
  const bool compiled = kind == Lane::kCompiled;
  if (compiled) ++epoch_compiled_steps_;
  note_ran(lane.bits(), lane.key());
  try {
    lane.run(microbatches);
  } catch (const std::exception& error) {
    if (compiled) trouble_.put_away_failed(lane, error.what());
    throw;
  }
}

// Most steps of a run have nothing to weigh, and a compiled one may take a microsecond: they go straight through, with
// no call between here and the lane, no text and no division.
void StepRunner::step(std::span<const Microbatch> microbatches, StepPlace place) {
  ++epoch_steps_;
  if (services_.log.empty()) {
    if (config_.lane == Lane::kEager && bits_.empty()) return eager(microbatches);
    StepPlan* const known = known_plan(microbatches);
    if (known != nullptr && is_settled(*known, place.number)) {
      run_now(*known->incumbent, microbatches);
      if (known->noted_bits != ran_bits_) note_bits(*known, place.number);
      return;
    }
  }
  StepPlan& plan = plan_of(microbatches, place);
  bool followed = false;
  if (!services_.log.empty()) {
    if (!plan.noted) know_noted(plan, place.number);
    followed = follow(plan, microbatches, place.number);
  }
  if (followed) {
    know_bits(plan, place.number);
  } else {
    run_step(plan, microbatches, place);
    note_bits(plan, place.number);
  }
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
  if (plan.is_follower()) take_shared(plan, microbatches);
  if (!plan.challenger && !plan.incumbent && !plan.tried_uncompiled) challenge_uncompiled(plan, microbatches);
  if (plan.challenger) return try_challenger(plan, microbatches, place);
  run_unchallenged(plan, microbatches, place);
}

// The run's steps are cut into stretches of check_every; each shape is compared at its first step in a stretch, however
// rare the shape is. Counted from the run's start, and where the last change of bits was noted in the journal, so that
// a resumed run compares at the steps at which it would have.
void StepRunner::check_again_after(StepPlan& plan, std::int64_t number) const {
  const std::int64_t every = config_.check_every;
  plan.next_check = every > 0 ? (number / every + 1) * every : std::numeric_limits<std::int64_t>::max();
}

void StepRunner::run_unchallenged(StepPlan& plan, Batch microbatches, StepPlace place) {
  if (plan.incumbent && place.number >= plan.next_check) {
    const Verdict verdict = compare_with_eager(plan, plan.incumbent, microbatches);
    if (verdict != Verdict::kUndecided) check_again_after(plan, place.number);
    return;
  }
  const auto begin = plan.undecided ? services_.clock.now() : base::Duration();
  run_incumbent(plan, microbatches);
  if (!plan.undecided) return;
  const std::chrono::duration<double, std::micro> took = services_.clock.now() - begin;
  decide_on_compiling(plan, took.count(), place.left);
}

bool StepRunner::settled() const {
  return std::ranges::all_of(plans_, [](const auto& plan) {
    const bool may_follow = plan->is_follower() && !plan->took_shared && plan->family->founder->runs_compiled();
    return plan->recorded && !plan->challenger && !plan->compiling && !plan->undecided && !may_follow;
  });
}

StepPlan& StepRunner::plan_of(Batch microbatches, StepPlace place) {
  if (StepPlan* const known = known_plan(microbatches)) return *known;
  if (!plans_.empty() && plans_.front()->structure != model_.network.structure_version()) drop_plans();
  return new_plan(microbatches, place);
}

StepPlan& StepRunner::new_plan(Batch microbatches, StepPlace place) {
  if (preparer_.is_on() && plans_.empty()) structure_ = structure_of(model_);
  auto plan = std::make_unique<StepPlan>();
  plan->structure = model_.network.structure_version();
  plan->warmup_left = config_.compile.warmup_steps;
  for (const auto& [inputs, targets] : microbatches) {
    for (const torch::Tensor& tensor : {inputs, targets}) {
      plan->sizes.push_back(tensor.dim());
      plan->sizes.insert(plan->sizes.end(), tensor.sizes().begin(), tensor.sizes().end());
    }
  }
  plan->shape = shape_of(microbatches);
  check_again_after(*plan, place.number);
  if (preparer_.is_on()) preparer_.keep_example(*plan, microbatches, place.left);
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
  families_.clear();
  no_families_ = false;
}

void StepRunner::eager(Batch microbatches) {
  figures_.in_use = Lane::kEager;
  note_ran(0, std::string());
  ++figures_.steps[static_cast<std::size_t>(Lane::kEager)];
  train_step(model_.state, model_.settings, microbatches, forward_);
}

void StepRunner::record(StepPlan& plan, Batch microbatches) {
  const Preparing preparing(*this);
  plan.recorded = true;
  auto recorded = program::record(step_roots(model_, microbatches), [&] { eager(microbatches); });
  if (!recorded) {
    ++figures_.refusals;
    tell(event("tolaria.lane_refused"_event, Level::kWarning,
               {{"lane", std::string(base::name_of(config_.lane))}, {"reason", recorded.error()}}));
  } else {
    plan.program = *std::move(recorded);
  }
}

void StepRunner::run_in(FastLane& lane, Batch microbatches) { run_now(lane, microbatches); }

void StepRunner::run_incumbent(StepPlan& plan, Batch microbatches) {
  if (!plan.incumbent) return eager(microbatches);
  run_in(*plan.incumbent, microbatches);
}

void StepRunner::note_epoch() {
  if (epoch_steps_ > 0 && epoch_compiled_steps_ == epoch_steps_) ++figures_.compiled_epochs;
  epoch_steps_ = epoch_compiled_steps_ = 0;
  figures_.graphs = *graphs_;
}

}  // namespace esper::lanes
