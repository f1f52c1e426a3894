#include "engine/bench/measure.h"

#include <fmt/core.h>
#include <torch/types.h>

#include <algorithm>

#include "base/names.h"
#include "device/facts.h"
#include "engine/bench/compute_settings.h"

namespace esper::engine::bench {
namespace {

constexpr int kCountedSteps = 20;

Trainee make(const Workload& workload, const std::string& name, config::Lane lane) {
  return name == "hand" ? handwritten_trainee(workload) : lane_trainee(workload, lane);
}

std::string far_off(const Agreement& agreement) {
  return fmt::format("after the same steps it differs by {:.3g} (allowed {:.3g})", agreement.difference,
                     agreement.tolerance);
}

void say(const MeasurePlan& plan, const std::string& text) {
  if (plan.phase) plan.phase(text);
}

// Rows of this process, each checked against a fresh eager model.
class Line {
 public:
  Line(const Workload& workload, const MeasurePlan& plan, Measurement& out, std::string suffix = {})
      : workload_(workload), plan_(plan), out_(out), suffix_(std::move(suffix)) {}

  void add(const std::string& kind, config::Lane lane) {
    const std::string name = kind + suffix_;
    say(plan_, "preparing: " + name);
    Trainee trainee = make(workload_, kind, lane);
    if (!trainee.refusal.empty()) return out_.refused.push_back({name, trainee.refusal});
    const Agreement agreement = compare(lane_trainee(workload_, config::Lane::kEager), trainee, workload_);
    if (!agreement.holds()) return out_.refused.push_back({name, far_off(agreement)});
    out_.disagreement[name] = agreement.difference;
    out_.counts[name] = count_step(trainee.step, kCountedSteps, workload_.setup.device);
    trainee.name = name;
    contenders.push_back(contender_of(std::move(trainee), workload_.setup.device));
    out_.lanes.push_back(name);
  }

  std::vector<Contender> contenders;

 private:
  const Workload& workload_;
  const MeasurePlan& plan_;
  Measurement& out_;
  std::string suffix_;  // of the names of its rows
};

std::string lane_name(config::Lane lane) { return std::string(base::name_of(lane)); }

void add_peers(const Workload& workload, const Scratch& scratch, const std::string& peer_model,
               std::vector<Contender>& contenders, Measurement& out) {
  Peers peers = open_peers({workload, peer_model}, scratch, find_python());
  for (const PeerRow& row : peers.rows) {
    if (!row.refusal.empty()) {
      out.refused.push_back({row.name, row.refusal});
      continue;
    }
    out.peers.push_back(row.name);
    out.optimizers[row.name] = row.optimizer;
  }
  out.peer_settings = std::move(peers.settings);
  std::ranges::move(peers.contenders, std::back_inserter(contenders));
}

// A row that dropped out during the measurement is reported as refused.
void drop_failed(Measurement& out) {
  for (const Row& row : out.rows) {
    if (row.failure.empty()) continue;
    out.refused.push_back({row.name, row.failure});
    std::erase(out.lanes, row.name);
    std::erase(out.peers, row.name);
  }
  std::erase_if(out.rows, [](const Row& row) { return !row.failure.empty(); });
}

void read_memory(torch::Device device, Measurement& out) {
  if (device.is_cuda()) out.device_memory = device::memory_figures(device);
}

}  // namespace

const Row* Measurement::find(const std::string& name) const {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

Measurement measure(const Workload& workload, const Scratch& scratch, const MeasurePlan& plan) {
  Measurement out;
  const torch::Device device = workload.setup.device;
  out.settings = compute_settings(workload.setup.settings, device);
  Line line(workload, plan, out);
  for (const config::Lane lane : plan.lanes) line.add(lane_name(lane), lane);
  line.add("hand", config::Lane::kEager);
  read_memory(device, out);
  if (!plan.times || line.contenders.empty()) return out;
  std::vector<Contender> contenders = std::move(line.contenders);
  if (plan.against.workload != nullptr) {
    Line other(*plan.against.workload, plan, out, "@" + plan.against.name);
    for (const config::Lane lane : plan.lanes) other.add(lane_name(lane), lane);
    std::ranges::move(other.contenders, std::back_inserter(contenders));
  }
  if (plan.peers) say(plan, "preparing: Python");
  if (plan.peers) add_peers(workload, scratch, plan.peer_model, contenders, out);
  const auto first = base::from_name<config::Lane>(out.lanes.front());
  Trainee again = make(workload, out.lanes.front(), first.value_or(config::Lane::kEager));
  again.name = kSameAgain;
  contenders.push_back(contender_of(std::move(again), device));
  out.rows = take_turns(contenders, plan.turns);
  read_memory(device, out);
  drop_failed(out);
  return out;
}

}  // namespace esper::engine::bench
