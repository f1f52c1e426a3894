#include "engine/bench_policy/network_forms.h"

#include <c10/core/InferenceMode.h>
#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "engine/bench/progress.h"
#include "engine/python/find_python.h"
#include "engine/training_setup.h"
#include "tamiyo/network/agreement.h"
#include "tamiyo/network/bf16_products.h"
#include "tamiyo/network/caps.h"
#include "tamiyo/network/unfolded_network.h"

namespace esper::engine::bench {
namespace {

using tamiyo::HeteroGraph;
using tamiyo::PolicyNetwork;

constexpr char kCompiledForm[] = "compiled", kBf16Form[] = "folded_bf16";

template <class Work>
double milliseconds_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

Form form_of(std::string name, PolicyNetwork& network, const HeteroGraph& graph, double warmup_ms) {
  return {.name = std::move(name), .call = [&] { return network.run(graph).value(); }, .warmup_ms = warmup_ms};
}

}  // namespace

NetworkForms::NetworkForms(const tamiyo::Weights& weights, const config::RunConfig& config,
                           const std::string& cache_dir)
    : weights_(weights), folded_(weights) {
  if (tamiyo::has_bf16_products(c10::kCPU)) {
    bf16_ = std::make_unique<PolicyNetwork>(tamiyo::in_bf16(folded_.weights()));
  } else {
    refused_.push_back({kBf16Form, "this processor has no bf16 matrix instructions (avx512_bf16, amx_bf16)"});
  }
  if (!config.policy.gnn.compile) return;
  if (const auto problem = find_python().problem; !problem.empty()) {
    refused_.push_back({kCompiledForm, problem});
    return;
  }
  service_ = make_compile_service(config, at::kCPU, cache_dir, program::WorkerPriority::kNormal);
  compiled_ = std::make_unique<PolicyNetwork>(weights);
  compiler_ = std::make_unique<tamiyo::NetworkCompiler>(service_.get());
}

std::vector<Form> NetworkForms::of(const HeteroGraph& graph) {
  const auto eager = [this, &graph] {
    const c10::InferenceMode inference;
    return to_outputs(run_unfolded(weights_, graph).heads);
  };
  // What cannot be recorded runs folded all the same.
  const double record_ms = milliseconds_of([&] { (void)folded_.padded(caps_for(graph).value()).record(); });
  std::vector<Form> forms = {{.name = "eager", .call = eager}, form_of("folded", folded_, graph, record_ms)};
  if (bf16_) {
    forms.push_back(form_of(kBf16Form, *bf16_, graph, 0));
    forms.back().tolerance = tamiyo::kMostDifference;
  }
  if (compiler_) add_compiled(graph, forms);
  return forms;
}

void NetworkForms::add_compiled(const HeteroGraph& graph, std::vector<Form>& forms) {
  const tamiyo::Caps caps = caps_for(graph).value();
  show_phase(fmt::format("compiling the network for up to {} nodes", tamiyo::to_text(caps)));
  const double compile_ms = milliseconds_of([&] {
    compiler_->request(*compiled_, caps);
    compiler_->wait(*compiled_);
  });
  for (const auto& [cause, reason] : compiler_->take_fallbacks()) {
    refused_.push_back({kCompiledForm, fmt::format("{}: {}", cause, reason)});
  }
  if (compiled_->padded(caps).form() != tamiyo::NetworkForm::kCompiled) return;
  forms.push_back(form_of(kCompiledForm, *compiled_, graph, compile_ms));
}

}  // namespace esper::engine::bench
