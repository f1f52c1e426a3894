#pragma once
// The policy network in this process, in each form that it has: as PyTorch Geometric computes it, folded, compiled,
// folded in bf16.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/run_config.h"
#include "engine/bench/measure.h"
#include "engine/bench_policy/answers.h"
#include "program/compile_service.h"
#include "tamiyo/network/network_compiler.h"
#include "tamiyo/network/policy_network.h"

namespace esper::engine::bench {

// One form, with one graph.
struct Form {
  std::string name;  // "eager", "folded", "compiled", "folded_bf16"
  std::function<tamiyo::PolicyOutputs()> call;
  double tolerance = kAnswerTolerance;  // as check_answer() takes it
  double warmup_ms = 0;
};

class NetworkForms {
 public:
  // The compiled form with policy.gnn.compile alone. weights: outlive it. cache_dir: as
  // program::private_cache_folder() takes it.
  NetworkForms(const tamiyo::Weights& weights, const config::RunConfig& config, const std::string& cache_dir);

  // Waits for the compiler. The forms refer to this and to the graph; one graph at a time.
  std::vector<Form> of(const tamiyo::HeteroGraph& graph);

  // Why there is no compiled form of some graph: one for each cause.
  std::vector<Refused> take_refused() { return std::exchange(refused_, {}); }

 private:
  void add_compiled(const tamiyo::HeteroGraph& graph, std::vector<Form>& forms);

  const tamiyo::Weights& weights_;
  tamiyo::PolicyNetwork folded_;
  std::unique_ptr<tamiyo::PolicyNetwork> bf16_;      // null: the processor has no such products
  std::unique_ptr<tamiyo::PolicyNetwork> compiled_;  // null: not asked for, or there is no compiler
  std::unique_ptr<program::CompileService> service_;
  std::unique_ptr<tamiyo::NetworkCompiler> compiler_;
  std::vector<Refused> refused_;
};

}  // namespace esper::engine::bench
