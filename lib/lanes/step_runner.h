#pragma once
// Runs training steps in the lane that suits them, and prepares faster lanes beside them. Training thread.
//
// A shape of step (the network's structure and the microbatches' sizes) begins in eager. After the warm-up a step is
// recorded as it runs. What the recording makes possible is then tried: a lane runs the real step only after one step
// from copied state did what eager does, and it stays only if it was faster over three times twenty steps of each.
// docs/lanes.md tells it in full.

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "lanes/lane_trouble.h"
#include "lanes/runner_services.h"
#include "lanes/step_preparer.h"
#include "step/model.h"
#include "step/train_step.h"

namespace esper::lanes {

// Where in the run a step stands.
struct StepPlace {
  std::int64_t number = 0;  // as RunProgress::step before it
  std::int64_t left = 0;    // how many more of its shape the run has, if nothing stops it
};

// Throws Error{kConfig} where the lane that was asked for cannot be had on the device.
void check_lane(const config::StepConfig& config, torch::Device device);

class StepRunner {
 public:
  // Borrows the model. Throws as check_lane().
  StepRunner(step::Model& model, const config::StepConfig& config, torch::Device device, RunnerServices services);
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  void step(std::span<const step::Microbatch> microbatches, StepPlace place);

  // Between two steps, after the network may have changed. `number`: of the next step. What is known of the structure
  // that came is brought into use here, so that its first step runs like a later one. docs/lanes.md, "Growth".
  void take_structure(std::int64_t number);
  // Between two steps: some work on the likeliest structure that is not ready yet. Nothing of the run changes.
  // steps_left: of the run.
  void prepare(std::span<const LikelyChange> likely, std::int64_t steps_left);
  // The first steps after a change of structure are to be timed, and told of here.
  bool is_watching() const { return swap_.has_value(); }
  void note_step_time(base::Duration took);

  // Nothing is left to try or to wait for, for the shapes seen so far.
  bool settled() const;

  const LaneFigures& figures() const { return figures_; }
  // At the end of an epoch: was all of it compiled?
  void note_epoch();

 private:
  using Batch = std::span<const step::Microbatch>;

  StepPlan* known_plan(Batch microbatches) const;
  StepPlan& plan_of(Batch microbatches, StepPlace place);
  StepPlan& new_plan(Batch microbatches, StepPlace place);
  void run_step(StepPlan& plan, Batch microbatches, StepPlace place);
  void record(StepPlan& plan, Batch microbatches);
  void eager(Batch microbatches);
  void run_incumbent(StepPlan& plan, Batch microbatches);
  void drop_plans();
  void run_in(FastLane& lane, Batch microbatches);
  void run_now(FastLane& lane, Batch microbatches);  // the same, for step_runner.cpp alone
  void note_ran(std::uint64_t bits, const std::string& key);
  void tell(leyline::TelemetryEvent event) const { services_.tell(std::move(event)); }

  // While it lives, the training thread's time goes to preparing lanes.
  class Preparing {
   public:
    explicit Preparing(StepRunner& runner);
    ~Preparing();
    Preparing(const Preparing&) = delete;

   private:
    StepRunner& runner_;
    base::Duration begin_;
    std::optional<base::LedgerScope> scope_;
  };

  // step_check.cpp
  // kUndecided: eager's own step was not finite, and says nothing about the lane.
  enum class Verdict { kSame, kRefused, kUndecided };
  Verdict compare_with_eager(StepPlan& plan, std::optional<FastLane>& lane, Batch microbatches);
  void check_challenger(StepPlan& plan, Batch microbatches, std::int64_t number);
  using Cause = LaneTrouble::Cause;
  Verdict refuse(StepPlan& plan, std::optional<FastLane>& lane, const std::string& reason, Cause cause,
                 const std::optional<program::Difference>& where);

  // step_trial.cpp
  void try_challenger(StepPlan& plan, Batch microbatches, StepPlace place);
  void challenge(StepPlan& plan, FastLane lane);
  void settle_trial(StepPlan& plan, std::int64_t number);
  void adopt(StepPlan& plan, std::optional<double> speedup, const std::string& reason, std::int64_t number);
  void run_unchallenged(StepPlan& plan, Batch microbatches, StepPlace place);
  void check_again_after(StepPlan& plan, std::int64_t number) const;

  // step_follow.cpp
  bool follow(StepPlan& plan, Batch microbatches, std::int64_t number);
  std::string load_noted(StepPlan& plan, const std::string& key, Batch microbatches);
  void know_noted(StepPlan& plan, std::int64_t number);
  bool know_bits(StepPlan& plan, std::int64_t number);
  void note_bits(StepPlan& plan, std::int64_t number);

  // step_graph.cpp
  bool may_capture() const;
  bool capture(FastLane& lane, Batch microbatches);
  void challenge_uncompiled(StepPlan& plan, Batch microbatches);
  FastLane load_package(StepPlan& plan, Batch microbatches, const std::string& path, const std::string& key);

  // step_compile.cpp
  void want_compiled(StepPlan& plan, Batch microbatches);
  void wait_for_compiled(StepPlan& plan, Batch microbatches);
  void decide_on_compiling(StepPlan& plan, double step_us, std::int64_t steps_left);
  void compile_next(StepPlan& plan);
  void take_compiled(StepPlan& plan, Batch microbatches);
  void finish_compilation(StepPlan& plan, const std::optional<program::CompileOutcome>& outcome, Batch microbatches);
  void tell_not_used(const std::vector<std::string>& files);
  bool load_cached(StepPlan& plan, const Variant& variant, Batch microbatches);
  void note_recipe(StepPlan& plan, double step_us);
  void choose_recipe(StepPlan& plan);
  std::string list_variants(StepPlan& plan);

  // step_family.cpp
  void join_family(StepPlan& plan, Batch microbatches);
  void found_family(StepPlan& plan, Batch microbatches, std::int64_t n);
  void take_shared(StepPlan& plan, Batch microbatches);
  void give_up_family(const StepFamily& family, const std::string& reason);
  void drop_shared(const StepPlan& plan, const std::string& key);
  void tell_not_dynamic(const std::string& reason);

  // step_swap.cpp
  config::Lane lane_in_use() const;
  StructureInUse in_use() const;
  void leave_structure();
  bool bring_in(const KnownStructure& known, config::Lane kind, std::int64_t number);
  void bring_in(StepPlan& plan, const KnownStep& known, config::Lane kind);
  void bring_in_families(const KnownStructure& known);
  void run_ready(StepPlan& plan, const KnownStep& known, Batch example);
  bool run_uncompiled(StepPlan& plan, Batch example);
  void note_swapped(std::int64_t number);
  void tell_swap();

  step::Model& model_;
  config::StepConfig config_;
  torch::Device device_;
  RunnerServices services_;
  step::TrainingForward forward_;
  std::vector<std::unique_ptr<StepPlan>> plans_;       // all of the network's present structure
  std::vector<std::unique_ptr<StepFamily>> families_;  // of these plans
  bool no_families_ = false;                           // a program for all sizes could not be compiled
  LaneFigures figures_;
  std::shared_ptr<GraphFigures> graphs_ = std::make_shared<GraphFigures>();  // lanes count into it
  std::int64_t epoch_steps_ = 0, epoch_compiled_steps_ = 0;

  std::string structure_;  // structure_of() the network that plans_ is for
  LaneTrouble trouble_{services_, figures_};
  StepPreparer preparer_{model_, config_, device_, services_, figures_, trouble_};  // of structures that may come
  struct Swap {
    std::int64_t number = 0;
    bool prepared = false;
    double prepare_ms = 0, swap_us = 0;
    std::vector<double> step_ms;
  };
  std::optional<Swap> swap_;                 // whose first steps are watched
  std::map<std::string, std::string> bits_;  // by shape: key of the compiled program that ran last, or empty
  std::string ran_;                          // key of the compiled program that ran the last step, or empty
  std::uint64_t ran_bits_ = 0;               // FastLane::bits() of the same
};

}  // namespace esper::lanes
