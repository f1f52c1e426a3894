#pragma once
// Runs training steps in the lane that suits them, and prepares faster lanes beside them. Training thread.
//
// A shape of step (the network's structure and the microbatches' sizes) begins in eager. After the warm-up a step is
// recorded as it runs. What the recording makes possible is then tried: a lane runs the real step only after one step
// from copied state did what eager does, and it stays only if it was faster over three times twenty steps of each.
// docs/lanes.md tells it in full.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "leyline/clock.h"
#include "leyline/ledger.h"
#include "leyline/telemetry_packet.h"
#include "program/compile_desk.h"
#include "tolaria/lane_figures.h"
#include "tolaria/model.h"
#include "tolaria/step_plan.h"
#include "tolaria/train_step.h"

namespace esper::tolaria {

// What a runner works with besides the model; all of it outlives the runner.
struct RunnerServices {
  program::CompileDesk* desk = nullptr;  // null: nothing can be compiled
  leyline::Ledger* ledger = nullptr;     // null: nobody keeps account
  leyline::Clock clock{};
  std::function<void(leyline::TelemetryEvent)> tell;
};

class StepRunner {
 public:
  // Borrows the model.
  StepRunner(Model& model, const leyline::StepConfig& config, torch::Device device, RunnerServices services);
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  // One step. steps_left: how many more of this shape the run has, if nothing stops it.
  void step(std::span<const Microbatch> microbatches, std::int64_t steps_left);

  const LaneFigures& figures() const { return figures_; }
  // At the end of an epoch: was all of it compiled?
  void note_epoch();

 private:
  using Batch = std::span<const Microbatch>;

  StepPlan& plan_of(Batch microbatches);
  void record(StepPlan& plan, Batch microbatches);
  void eager(Batch microbatches);
  void run_incumbent(StepPlan& plan, Batch microbatches);
  void run_in(FastLane& lane, Batch microbatches);
  void tell(leyline::TelemetryEvent event) const { services_.tell(std::move(event)); }

  // While it lives, the training thread's time goes to preparing lanes.
  class Preparing {
   public:
    explicit Preparing(StepRunner& runner);
    ~Preparing();
    Preparing(const Preparing&) = delete;

   private:
    StepRunner& runner_;
    leyline::Duration begin_;
    std::optional<leyline::LedgerScope> scope_;
  };

  // step_trial.cpp
  enum class Verdict { kSame, kDiffers };
  Verdict compare_with_eager(StepPlan& plan, FastLane& lane, Batch microbatches);
  void try_challenger(StepPlan& plan, Batch microbatches, std::int64_t steps_left);
  void challenge(StepPlan& plan, FastLane lane);
  void settle_trial(StepPlan& plan);
  void drop_challenger(StepPlan& plan, Batch microbatches);
  void adopt(StepPlan& plan, double speedup, const std::string& reason);
  void put_away(StepPlan& plan, const FastLane& lane, const std::string& reason, const program::Difference* where);

  // step_compile.cpp
  void want_compiled(StepPlan& plan, Batch microbatches);
  void wait_for_compiled(StepPlan& plan, Batch microbatches);
  void decide_on_compiling(StepPlan& plan, double step_us, std::int64_t steps_left);
  void compile_next(StepPlan& plan);
  void take_compiled(StepPlan& plan, Batch microbatches);
  void finish_compilation(StepPlan& plan, const std::optional<program::CompileOutcome>& outcome, Batch microbatches);
  bool load_cached(StepPlan& plan, const Variant& variant, Batch microbatches);
  void note_recipe(StepPlan& plan, double step_us);
  void tell_no_compiler(const std::string& kind, const std::string& reason);

  Model& model_;
  leyline::StepConfig config_;
  torch::Device device_;
  RunnerServices services_;
  Forward forward_;
  std::vector<std::unique_ptr<StepPlan>> plans_;  // all of the network's present structure
  LaneFigures figures_;
  std::int64_t epoch_steps_ = 0, epoch_compiled_steps_ = 0;
  bool told_no_compiler_ = false;
};

}  // namespace esper::tolaria
