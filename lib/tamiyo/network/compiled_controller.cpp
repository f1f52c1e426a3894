#include "tamiyo/network/compiled_controller.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/text/json_fields.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tamiyo {

using leyline::Level;
using leyline::metric;
using nlohmann::json;
using namespace leyline::literals;

namespace {

constexpr char kSizes[] = "compiled_sizes";

bool is_size(const Caps& size) {
  return std::ranges::all_of(size, [](int cap) { return cap >= 1 && cap <= kMostCap; });
}

std::set<Caps> read_sizes(const json& saved) {
  std::set<Caps> sizes;
  try {
    if (saved.contains(kSizes)) sizes = saved.at(kSizes).get<std::set<Caps>>();
  } catch (const json::exception& error) {
    throw base::Error(base::ExitCode::kCheckpoint,
                      "the policy's saved state: compiled_sizes: " + base::plain_reason(error));
  }
  if (std::ranges::all_of(sizes, is_size)) return sizes;
  throw base::Error(base::ExitCode::kCheckpoint,
                    "the policy's saved state: compiled_sizes: one is not a size of a graph");
}

}  // namespace

CompiledController::CompiledController(FoldedWeights weights, std::unique_ptr<program::CompileService> service,
                                       const Make& make)
    : service_(std::move(service)),
      folded_(std::move(weights)),
      compiled_(folded_.weights()),
      compiler_(service_.get()),
      policy_(make([this](const HeteroGraph& graph) { return answer(graph); })) {
  folded_.warm_up();
}

base::Expected<PolicyOutputs> CompiledController::answer(const HeteroGraph& graph) {
  const auto size = caps_for(graph);
  if (!size) return base::failure(size.error());
  last_size_ = *size;
  return (is_compiled(*size) ? compiled_ : folded_).run(graph);
}

bool CompiledController::is_compiled(const Caps& size) {
  return sizes_.contains(size) && tried_.contains(size) && compiled_.padded(size).form() == NetworkForm::kCompiled;
}

leyline::Decision CompiledController::decide(const leyline::Observation& observation) {
  const std::lock_guard lock(mutex_);
  last_size_.reset();
  auto decision = policy_->decide(observation);
  if (last_size_) sizes_.insert(*last_size_);
  return decision;
}

std::string CompiledController::save_state() const {
  auto saved = json::parse(policy_->save_state());
  saved[kSizes] = sizes_;
  return saved.dump();
}

void CompiledController::load_state(const std::string& text) {
  const std::lock_guard lock(mutex_);
  auto sizes = read_sizes(json::parse(text, nullptr, false));
  policy_->load_state(text);
  sizes_ = std::move(sizes);
  last_size_.reset();
  for (const Caps& size : sizes_) {
    if (!tried_.contains(size)) compile(size);
  }
}

std::optional<Caps> CompiledController::uncompiled_size() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !last_size_ || tried_.contains(*last_size_)) return {};
  return last_size_;
}

void CompiledController::compile_size() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock() && last_size_ && !tried_.contains(*last_size_)) compile(*last_size_);
}

void CompiledController::compile(const Caps& size) {
  tried_.insert(size);
  compiler_.request(compiled_, size);
  compiler_.wait(compiled_);
}

void CompiledController::report(std::vector<leyline::MetricValue>& metrics,
                                std::vector<leyline::TelemetryEvent>& events) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  const bool enabled = lock.owns_lock() && last_size_ && is_compiled(*last_size_);
  const auto& [compiled, fallbacks, warm_ms] = compiler_.figures();
  metrics.push_back(metric("tamiyo.gnn.compile_enabled"_metric, enabled ? 1 : 0));
  metrics.push_back(metric("tamiyo.gnn.compile_fallback_total"_metric, static_cast<double>(fallbacks)));
  if (warm_ms) metrics.push_back(metric("tamiyo.gnn.compile_warm_ms"_metric, *warm_ms));
  for (const auto& [cause, reason] : compiler_.take_fallbacks()) {
    events.push_back(event("compile_disabled"_event, Level::kWarning, {{"cause", cause}, {"reason", reason}}));
  }
}

}  // namespace esper::tamiyo
