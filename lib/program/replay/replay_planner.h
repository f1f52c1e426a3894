#pragma once
// Settles, once, all of a replay that is the same in every run. Training thread, while the replay is made.

#include "program/replay/memory_plan.h"
#include "program/replay/replay.h"
#include "program/value_storage.h"

namespace esper::program {

class ReplayPlanner {
 public:
  ReplayPlanner(const Program& program, Replay& replay);
  void run();

 private:
  enum class Fate {
    kPlanned,   // its result has a place in the arena, and the operator writes there
    kConstant,  // run once, now
    kView,      // of settled memory: made once, now
    kCall       // run every time, as recorded
  };
  struct Step {
    c10::OperatorHandle op;
    Fate fate = Fate::kCall;
    std::optional<c10::OperatorHandle> writer;  // kPlanned: what writes; empty where nothing has to be written
  };

  void decide();
  Step decide(std::size_t at);
  bool is_planned(Step& step, const Operation& operation) const;
  void lay_out();
  void settle(std::size_t at);
  void settle_planned(std::size_t at);
  void settle_now(std::size_t at);
  void add_call(std::size_t at);
  void record_dead(Replay::Call& call, std::size_t at) const;
  std::vector<c10::IValue> settled_arguments(const Operation& operation, const c10::FunctionSchema& schema,
                                             std::vector<Replay::Patch>& patches) const;
  bool all_settled(const Argument& argument) const;

  const Program& program_;
  Replay& replay_;
  ValueStorage storage_;
  std::vector<bool> written_;  // by owner: some operation writes it after it was made
  std::vector<bool> settled_;  // by value
  std::vector<Step> steps_;
};

}  // namespace esper::program
