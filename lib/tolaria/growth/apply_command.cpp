#include "tolaria/growth/apply_command.h"

#include <malloc.h>

#include "device/out_of_memory.h"
#include "kasmina/change.h"
#include "kasmina/command/command_form.h"
#include "kasmina/network/network_tensors.h"
#include "tolaria/growth/fold_state.h"
#include "tolaria/growth/graft_room.h"

namespace esper::tolaria {

using step::follow_structure;
using step::Model;
using step::StepState;

namespace {

using kasmina::LifecycleEvent;

bool folds(const std::vector<LifecycleEvent>& events) {
  return !events.empty() && events.back().kind == LifecycleEvent::Kind::kFold && events.back().passed;
}

std::int64_t elements_of(const Model& model) { return kasmina::num_parameters_of(model.network.state()); }

// What malloc keeps for the next step counts as in use, and may be what is missing.
std::string lack_of_host_memory(std::int64_t elements) {
  const auto lack = [&] { return lack_of_memory(elements, base::memory_room(base::system_memory())); };
  if (lack().empty()) return {};
  malloc_trim(0);
  return lack();
}

// What the grown network lacks, as a code and a reason; an empty code: nothing.
struct Lack {
  std::string code, reason;
};
Lack lack_for(std::int64_t added, const StepState& before, std::uint64_t state_bytes,
              std::optional<std::uint64_t> disk_room) {
  if (added <= 0) return {};
  const std::string of_memory = before.device.is_cpu() ? lack_of_host_memory(added) : "";
  if (!of_memory.empty()) return {"out_of_memory", of_memory};
  const std::string of_disk = disk_room ? lack_of_disk(state_bytes, added, *disk_room) : "";
  return of_disk.empty() ? Lack{} : Lack{"out_of_space", of_disk};
}

AppliedCommand refusal(const leyline::AdaptationCommand& command, const std::exception& error) {
  const std::string lack = device::out_of_memory_message(error);
  if (lack.empty()) throw;
  AppliedCommand done;
  done.events = {kasmina::refusal_of(command, "out_of_memory", lack)};
  return done;
}

}  // namespace

AppliedCommand apply_command(Model& model, const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                             std::uint64_t now_ns, std::optional<std::uint64_t> disk_room) {
  const auto version = model.network.structure_version();
  const std::int64_t elements = elements_of(model);
  std::uint64_t state_bytes = 0;
  const StepState state =
      model.state;  // shared tensors: following a structure creates new ones, and keeps or drops old ones
  AppliedCommand done;
  FoldedState folded;
  try {
    folded = folded_state(model, command);
    state_bytes = kasmina::bytes_of(step::all_tensors(model, model.state.device));
  } catch (const std::exception& error) {
    return refusal(command, error);
  }
  auto change = model.network.open_change();
  done.events = change.apply(command, probe, now_ns);
  if (model.network.structure_version() == version) {
    change.commit();
    return done;
  }
  const auto [code, reason] = lack_for(elements_of(model) - elements, state, state_bytes, disk_room);
  if (!code.empty()) {
    change.roll_back();
    done.events = {kasmina::refusal_of(command, code, reason)};
    return done;
  }
  try {
    done.change = follow_structure(model);
    done.structure_changed = true;
  } catch (const std::exception& error) {
    model.state = state;
    change.roll_back();
    return refusal(command, error);
  }
  change.commit();
  if (folded.parts || folds(done.events)) write_folded(model.state, folded, done.change);
  return done;
}

}  // namespace esper::tolaria
