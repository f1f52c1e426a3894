#pragma once
// Programs that are being compiled: for steps in use, and one at a time ahead for steps that may come. The only place
// that submits, polls, awaits and cancels compilations, with their events and figures. Training thread.

#include <optional>
#include <string>
#include <utility>

#include "lanes/shape/lane_context.h"
#include "lanes/shape/step_shape.h"

namespace esper::lanes {

struct CompileWait {
  enum class End {
    kOutcome,
    kInterrupted,  // a signal stops the run
    kLate,         // no outcome within CompileService::longest_wait()
  };
  End end;
  std::optional<program::CompileOutcome> outcome{};  // with kOutcome
};

// A program that is compiled before its structure is in use.
struct Precompilation {
  std::string structure, shape;
  Variant variant;
};

class CompileQueue {
 public:
  // Both must outlive it.
  CompileQueue(const LaneServices& services, LaneFigures& figures) : services_(services), figures_(figures) {}
  CompileQueue(const CompileQueue&) = delete;

  // For a step in use. A compilation ahead is cancelled, or taken over if it is of this program; false: it was.
  bool start(const program::SymbolicProgram& program, const Variant& variant);
  // The outcome of a submitted compilation; empty while it runs.
  std::optional<program::CompileOutcome> poll(const std::string& key);
  // Waits for the outcome. After five seconds, and every fifteen from then on, tolaria.compile_waiting is emitted and
  // sent at once. Without an outcome the compilation is cancelled.
  CompileWait wait(const std::string& key);
  void give_up(const std::string& key);

  // For a structure that may come; false if another compilation ahead is running.
  bool is_precompiling() const { return precompilation_.has_value(); }
  bool precompile(const program::SymbolicProgram& program, Precompilation wanted);
  std::optional<std::pair<Precompilation, program::CompileOutcome>> poll_precompilation();
  // The compilation ahead becomes a submitted one if it is for this shape of this structure.
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
