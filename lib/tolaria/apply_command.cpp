#include "tolaria/apply_command.h"

#include "device/out_of_memory.h"

namespace esper::tolaria {

AppliedCommand apply_command(Model& model, const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                             std::uint64_t now_ns) {
  const auto structure = model.network.structure();
  const auto version = model.network.structure_version();
  const StepState state =
      model.state;  // the same tensors: following a structure makes new ones, and keeps or drops old
  AppliedCommand done;
  done.events = model.network.apply(command, probe, now_ns);
  if (model.network.structure_version() == version) return done;
  try {
    done.change = follow_structure(model);
    done.structure_changed = true;
  } catch (const std::exception& error) {
    const std::string lack = device::lack_of_memory(error);
    if (lack.empty()) throw;
    model.state = state;
    model.network.put_back(structure);
    done.events = {kasmina::refusal_of(command, "out_of_memory", lack)};
  }
  return done;
}

}  // namespace esper::tolaria
