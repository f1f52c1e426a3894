#include "lanes/structure/scratch_model.h"

#include <map>
#include <nlohmann/json.hpp>

#include "kasmina/command/command_form.h"
#include "kasmina/fold/network_fold.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/slot/topology.h"

namespace esper::lanes {

using step::follow_structure;
using step::follow_training_gates;
using step::Model;
using step::named_tensors;

namespace {

using kasmina::NamedTensor;
using leyline::SeedOperation;

using Tensors = std::map<std::string, torch::Tensor>;

Tensors tensors_of(const Model& model) {
  Tensors all;
  for (const auto& part : {named_tensors(model.state), model.network.buffers(), model.network.scalars()}) {
    for (const auto& [id, tensor] : part) all.emplace(id, tensor.detach());
  }
  return all;
}

void copy_shared(const Model& from, const Model& to) {
  const Tensors source = tensors_of(from);
  for (auto& [id, tensor] : tensors_of(to)) {
    const auto found = source.find(id);
    if (found != source.end() && found->second.sizes() == tensor.sizes()) torch::Tensor(tensor).copy_(found->second);
  }
}

void open_halfway(const Model& model) {
  for (const auto& seed : kasmina::export_seed_states(model.network.state())) {
    if (seed.stage == leyline::Stage::kFossilized) continue;
    for (const auto& [id, scalar] : model.network.scalars()) {
      if (!id.starts_with(seed.seed_id + ".")) continue;
      torch::Tensor(scalar).detach().fill_(id.ends_with(".training_gate") ? 1.0 : 0.5);
    }
  }
}

// A policy germinates a seed and starts its training in one decision. That is another structure only where it trains in
// the shadow of the network.
nlohmann::json with_started_seed(nlohmann::json topology, const LikelyChange& change,
                                 const config::GrowthConfig& growth) {
  topology = kasmina::with_seed(std::move(topology), change.slot, change.blueprint, growth);
  if (growth.training != config::SeedTraining::kShadow) return topology;
  const auto id = kasmina::seed_name(kasmina::topology_of(topology).seeds_born);
  return kasmina::with_stage(std::move(topology), id, leyline::Stage::kTraining);
}

// A fossil that folds into the host leaves the network as it would be without the seed.
nlohmann::json topology_after(nlohmann::json topology, const LikelyChange& change, const Model& running,
                              const config::GrowthConfig& growth) {
  const auto stage = kasmina::wanted_stage(change.operation);
  const bool folds =
      stage == leyline::Stage::kFossilized && !kasmina::folded_layer(running.network.state(), change.seed_id).empty();
  if (change.operation == SeedOperation::kGerminate) {
    topology = with_started_seed(std::move(topology), change, growth);
  } else if (stage && !folds) {
    topology = kasmina::with_stage(std::move(topology), change.seed_id, *stage);
  } else {
    topology = kasmina::without_seed(std::move(topology), change.seed_id, growth);
  }
  for (const LikelyChange& other : change.together) {
    topology = topology_after(std::move(topology), other, running, growth);
  }
  return topology;
}

std::unique_ptr<Model> model_of_topology(const ModelFactory& build, const Model& running,
                                         const nlohmann::json& topology) {
  const torch::NoGradGuard no_grad;
  auto made = build();
  made->network.restore_topology(topology);
  follow_structure(*made);
  made->state.count_constants = running.state.count_constants;  // created by eager steps; inputs of programs
  copy_shared(running, *made);
  open_halfway(*made);
  follow_training_gates(*made);
  return made;
}

}  // namespace

std::unique_ptr<Model> make_scratch_model(const ModelFactory& build, const Model& running) {
  return model_of_topology(build, running, running.network.save_topology());
}

std::unique_ptr<Model> make_scratch_model_after(const LikelyChange& change, const ModelFactory& build,
                                                const Model& running, const config::GrowthConfig& growth) {
  return model_of_topology(build, running, topology_after(running.network.save_topology(), change, running, growth));
}

// The allocator's figures are zero on the CPU.
std::uint64_t room_for_scratch_model(const device::MemoryFigures& memory) {
  return memory.free_bytes + memory.reserved_bytes - memory.used_bytes;
}

bool has_room_for_scratch_model(const device::MemoryFigures& memory) {
  return room_for_scratch_model(memory) > memory.peak_bytes;
}

}  // namespace esper::lanes
