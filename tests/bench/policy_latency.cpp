// How long the policy network takes for graphs of 8, 30 and 100 nodes on one thread: as PyTorch Geometric computes it
// (eager), folded, replayed from a recording, and, with --compiled FOLDER as the cache, compiled. Checks that all forms
// agree, then prints one JSON line a network and size: percentiles of the time from a graph to its answer.

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/statistics.h"
#include "support/policy_graphs.h"
#include "tamiyo/network/network_compiler.h"
#include "tamiyo/network/unfolded_network.h"

namespace {

using namespace esper;
using namespace esper::tamiyo;

constexpr double kWindow_s = 2;
constexpr std::size_t kLeastCalls = 100, kWarmups = 20;
constexpr double kTolerance = 1e-4;

using Call = std::function<PolicyOutputs()>;

struct Form {
  std::string name;
  Call call;
};

std::vector<double> times_us(const Call& call) {
  const base::Clock clock;
  for (std::size_t i = 0; i < kWarmups; ++i) call();
  std::vector<double> times;
  const auto begin = clock.now();
  while (times.size() < kLeastCalls || std::chrono::duration<double>(clock.now() - begin).count() < kWindow_s) {
    const auto start = clock.now();
    call();
    times.push_back(std::chrono::duration<double, std::micro>(clock.now() - start).count());
  }
  return times;
}

bool measure(const Form& form, int nodes, const PolicyOutputs& expected) {
  const PolicyOutputs outputs = form.call();
  double error = std::abs(outputs.value - expected.value);
  for (std::size_t i = 0; i < outputs.policy_logits.size(); ++i) {
    error = std::max<double>(error, std::abs(outputs.policy_logits[i] - expected.policy_logits[i]));
  }
  const auto times = times_us(form.call);
  std::printf(
      "{\"network\": \"%s\", \"nodes\": %d, \"p50_us\": %.0f, \"p95_us\": %.0f, \"p99_us\": %.0f, \"calls\": %zu, "
      "\"error\": %.1e}\n",
      form.name.c_str(), nodes, base::percentile(times, 50), base::percentile(times, 95), base::percentile(times, 99),
      times.size(), error);
  std::fflush(stdout);
  return error < kTolerance;
}

std::unique_ptr<program::CompileService> service_in(const std::string& cache) {
  program::CompileServiceSettings settings;
  settings.python = ESPER_SOURCE_DIR "/.esper/python/bin/python";
  settings.torch_version = ESPER_LIBTORCH;
  settings.device = "cpu";
  settings.compile.deadline = std::chrono::minutes(10);
  return std::make_unique<program::CompileService>(settings, program::CompileFolders{cache, {}});
}

// A network of its own for each form, so that none has what another prepared.
struct Networks {
  explicit Networks(const Weights& weights) : folded(weights), replayed(weights), compiled(weights) {}
  PolicyNetwork folded, replayed, compiled;
};

std::vector<Form> forms_of(Networks& networks, const Weights& weights, const HeteroGraph& graph,
                           program::CompileService* service) {
  const auto call = [&graph](PolicyNetwork& network) { return [&] { return network.run(graph).value(); }; };
  std::vector<Form> forms = {{"eager",
                              [&] {
                                const c10::InferenceMode inference;
                                return to_outputs(run_unfolded(weights, graph).heads);
                              }},
                             {"folded", call(networks.folded)}};
  const Caps caps = caps_for(graph).value();
  if (networks.replayed.padded(caps).record()) forms.push_back({"replay", call(networks.replayed)});
  if (service == nullptr) return forms;
  NetworkCompiler compiler(service);
  compiler.request(networks.compiled, caps);
  compiler.wait(networks.compiled);
  for (const auto& [cause, reason] : compiler.take_fallbacks())
    std::fprintf(stderr, "%s: %s\n", cause.c_str(), reason.c_str());
  if (compiler.figures().compiled > 0) forms.push_back({"compiled", call(networks.compiled)});
  return forms;
}

}  // namespace

int main(int count, char** arguments) {
  at::set_num_threads(1);
  std::unique_ptr<program::CompileService> service;
  if (count == 3 && std::string_view(arguments[1]) == "--compiled") service = service_in(arguments[2]);
  const Weights weights = test::dense_weights();
  Networks networks(weights);
  bool good = true;
  for (const test::GraphShape& shape : test::kGraphShapes) {
    const HeteroGraph graph = test::random_graph(shape, 1);
    int nodes = 0;
    for (const NodeTable& table : graph.nodes) nodes += table.count;
    const auto forms = forms_of(networks, weights, graph, service.get());
    const PolicyOutputs expected = forms.front().call();
    for (const Form& form : forms) good = measure(form, nodes, expected) && good;
  }
  return good ? 0 : 1;
}
