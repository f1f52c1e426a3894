#pragma once
// Programs that are being compiled: for steps in use, and one at a time for steps that may come. Asked for, polled,
// waited for and given up here alone, with their events and figures. Training thread.

#include <optional>
#include <string>
#include <utility>

#include "lanes/shape/lane_context.h"
#include "lanes/shape/step_shape.h"

namespace esper::lanes {

struct CompileWait {
  enum class End {
    kOutcome,
    kInterrupted,  // a signal asked the run to stop
    kLate,         // the compiler came to no outcome in CompileService::longest_wait()
  };
  End end;
  std::optional<program::CompileOutcome> outcome{};  // with kOutcome
};

// A program that is compiled before the structure that needs it comes.
struct Precompilation {
  std::string structure, shape;
  Variant variant;
};

class CompileQueue {
 public:
  // Both outlive it.
  CompileQueue(const LaneServices& services, LaneFigures& figures) : services_(services), figures_(figures) {}
  CompileQueue(const CompileQueue&) = delete;

  // For a step in use. What is being compiled ahead gives way, or is taken over where it is this program.
  void start(const program::SymbolicProgram& program, const Variant& variant);
  // The outcome of what was started, once there is one.
  std::optional<program::CompileOutcome> poll(const std::string& key);
  // Waits for it. After five seconds, and every fifteen from then on, tolaria.compile_waiting says what is waited for;
  // it is sent at once. Where there is no outcome the compilation is given up.
  CompileWait wait(const std::string& key);
  void give_up(const std::string& key);

  // For a structure that may come; false where another one is under way.
  bool precompile(const program::SymbolicProgram& program, Precompilation wanted);
  std::optional<std::pair<Precompilation, program::CompileOutcome>> poll_precompilation();
  // It becomes a started one, if it is for this shape of this structure.
  std::optional<Variant> take_over(const std::string& structure, const std::string& shape);

 private:
  void submit(const program::SymbolicProgram& program, const Variant& variant);
  void finish(const program::CompileOutcome& outcome);
  void withdraw_precompilation();

  const LaneServices& services_;
  LaneFigures& figures_;
  std::optional<Precompilation> precompilation_;
};

}  // namespace esper::lanes
