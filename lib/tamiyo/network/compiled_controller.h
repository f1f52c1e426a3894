#pragma once
// A policy over the network's compiled form, such that a resumed run decides as the uninterrupted one did: the first
// question about a graph of some size is answered by the folded network, training then waits until that size is
// compiled, and the compiled network answers all later ones. The sizes are a part of the saved state.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "leyline/controller.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "program/compile_service.h"
#include "tamiyo/graph/graph_network.h"
#include "tamiyo/network/network_compiler.h"
#include "tamiyo/network/policy_network.h"

namespace esper::tamiyo {

class CompiledController final : public leyline::Controller {
 public:
  // A controller that asks the network that it is given.
  using Make = std::function<std::unique_ptr<leyline::Controller>(GraphNetwork network)>;

  // service: null where there is no compiler; for the weights' device. Made on the training thread.
  CompiledController(FoldedWeights weights, std::unique_ptr<program::CompileService> service, const Make& make);

  leyline::Decision decide(const leyline::Observation& observation) override;
  std::string save_state() const override;
  // Compiles the sizes of the state, and waits for that. Throws as the controller's own, and Error{kCheckpoint} for
  // sizes that are none.
  void load_state(const std::string& text) override;

  // After a question, on the training thread: its size, if nothing was done for it yet. Nothing as well while a late
  // answer is still being computed.
  std::optional<Caps> uncompiled_size();
  // Compiles it; waits until that succeeded or the compiler gave up. Does nothing where there is no such size.
  void compile_size();
  // tamiyo.gnn.compile_*, and an event for each new cause of a fallback.
  void report(std::vector<leyline::MetricValue>& metrics, std::vector<leyline::TelemetryEvent>& events);

 private:
  base::Expected<PolicyOutputs> answer(const HeteroGraph& graph);
  bool is_compiled(const Caps& size);
  void compile(const Caps& size);

  std::unique_ptr<program::CompileService> service_;
  PolicyNetwork folded_, compiled_;
  NetworkCompiler compiler_;
  std::unique_ptr<leyline::Controller> policy_;
  std::set<Caps> sizes_;  // of questions that were answered
  std::set<Caps> tried_;  // compiled, or given up
  std::optional<Caps> last_size_;
  std::mutex mutex_;  // held while a question is answered; for all but what save_state() reads
};

}  // namespace esper::tamiyo
