#include "tamiyo/network/network_compiler.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/file_system.h"
#include "device/asynchronous_error.h"
#include "device/out_of_memory.h"
#include "program/python_text.h"
#include "tamiyo/network/uniform_tensor.h"

namespace esper::tamiyo {
namespace {

// Of a compiled answer's numbers, relative to those above 1: sums in another order.
constexpr double kTolerance = 1e-4;

// The largest difference, relative to numbers above 1; not a number where one is not.
double error_of(const at::Tensor& output, const at::Tensor& expected) {
  return ((output - expected).abs() / expected.abs().clamp_min(1)).max().item<double>();
}

// Whether it is the package's fault, not the machine's: no room in the folder for temporary files, or in memory, or a
// GPU that failed before.
bool is_of_package(const base::Error& error) {
  return dynamic_cast<const base::IoError*>(&error) == nullptr && device::out_of_memory_message(error).empty() &&
         !device::is_asynchronous_error(error.what());
}

std::vector<float> uniform_numbers(const std::string& name, std::int64_t count) {
  const at::Tensor tensor = uniform_tensor(1, name, {count}, 1.0F);
  return {tensor.const_data_ptr<float>(), tensor.const_data_ptr<float>() + count};
}

at::Tensor output_of(PaddedNetwork& network, const HeteroGraph& graph) {
  ESPER_CHECK(network.run(graph).has_value(), "the full graph is one that the network takes");
  return network.output().clone();
}

}  // namespace

HeteroGraph full_graph(const Caps& caps) {
  HeteroGraph graph;
  for (const auto& [type, name] : names(NodeType{})) {
    const auto place = static_cast<std::size_t>(type);
    graph.nodes[place] = {caps[place], uniform_numbers(name, caps[place] * kNodeFeatures[place])};
  }
  for (std::size_t i = 0; i < kRelations; ++i) {
    EdgeList& edges = graph.edges[i];
    const int targets = caps[static_cast<std::size_t>(kRelationTable[i].target)];
    for (int source = 0; source < caps[static_cast<std::size_t>(kRelationTable[i].source)]; ++source) {
      for (int target = source % 3; target < targets; target += 3) {
        edges.source.push_back(source);
        edges.target.push_back(target);
      }
    }
    edges.attributes = uniform_numbers(std::string(kRelationTable[i].name),
                                       static_cast<std::int64_t>(edges.source.size()) * kEdgeFeatures);
  }
  return graph;
}

void NetworkCompiler::fall_back(const std::string& cause, const std::string& reason) {
  ++figures_.fallbacks;
  if (causes_.insert(cause).second) untaken_.push_back({cause, reason});
}

std::vector<CompileFallback> NetworkCompiler::take_fallbacks() { return std::exchange(untaken_, {}); }

void NetworkCompiler::request(PolicyNetwork& network, const Caps& caps) {
  PaddedNetwork& padded = network.padded(caps);
  if (padded.form() != NetworkForm::kEager) return;
  if (auto recorded = padded.record(); !recorded) return fall_back("not_recorded", recorded.error());
  if (service_ == nullptr) return fall_back("no_compiler", "there is no Python with torch; esper doctor says why");
  if (!service_->problem().empty()) return fall_back("compile_error", service_->problem());
  const std::string recipe = service_->recipes(padded.program()).front();
  const Pending pending{caps, service_->key(padded.program(), recipe)};
  if (auto reason = service_->cache().why_unusable(pending.key)) return fall_back("quarantined", *reason);
  if (put_in_place(network, pending)) return;
  service_->submit(padded.program(), recipe, program::CompileEffort::kFull);
  pending_.push_back(pending);
}

// False where the cache has no such package; one that it has but that cannot be used counts as a fallback.
bool NetworkCompiler::put_in_place(PolicyNetwork& network, const Pending& pending) {
  const auto cached = service_->cache().find(pending.key);
  if (!cached) return false;
  const auto begin = clock_.now();
  PaddedNetwork& padded = network.padded(pending.caps);
  const HeteroGraph graph = full_graph(pending.caps);
  const at::Tensor expected = output_of(padded, graph);
  std::shared_ptr<const program::Package> package;
  try {
    package = std::make_shared<program::Package>(cached->file.path(), program::inputs_text(padded.program()),
                                                 network.weights().device());
  } catch (const base::Error& error) {
    if (is_of_package(error)) {
      service_->cache().quarantine(pending.key, program::EntryFault::kFailed, error.what(), cached->mac);
    }
    fall_back("load_error", error.what());
    return true;
  }
  padded.adopt(package);
  const double error = error_of(output_of(padded, graph), expected);
  if (!(error <= kTolerance)) {
    padded.replay();
    const std::string reason = fmt::format("the compiled network differs by {:.1e} from the recorded one", error);
    service_->cache().quarantine(pending.key, program::EntryFault::kWrong, reason);
    fall_back("wrong_result", reason);
    return true;
  }
  ++figures_.compiled;
  figures_.warm_ms = std::chrono::duration<double, std::milli>(clock_.now() - begin).count();
  return true;
}

void NetworkCompiler::finish(PolicyNetwork& network, const Pending& pending, const program::CompileOutcome& outcome) {
  if (outcome.failure) return fall_back("compile_error", outcome.reason);
  // Rebuilt meanwhile: it has other memory, and the same program.
  if (network.padded(pending.caps).form() == NetworkForm::kEager) return request(network, pending.caps);
  if (!put_in_place(network, pending)) fall_back("compile_error", "the cache lost the compiled network");
}

void NetworkCompiler::poll(PolicyNetwork& network) {
  for (std::size_t i = 0; i < pending_.size();) {
    const auto outcome = service_->poll(pending_[i].key);
    if (!outcome) {
      ++i;
      continue;
    }
    const Pending pending = pending_[i];
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    finish(network, pending, *outcome);
  }
}

void NetworkCompiler::wait(PolicyNetwork& network) {
  while (!pending_.empty()) {
    const Pending pending = pending_.back();
    pending_.pop_back();
    const auto outcome = service_->wait(pending.key);
    if (!outcome) {
      service_->cancel(pending.key);
      fall_back("compile_error", "the compiler did not finish in time");
      continue;
    }
    finish(network, pending, *outcome);
  }
}

}  // namespace esper::tamiyo
