#include "tolaria/apply_command.h"

#include "device/out_of_memory.h"
#include "tolaria/ema.h"

namespace esper::tolaria {
namespace {

using kasmina::LifecycleEvent;
using kasmina::NamedTensor;

// The host's next layer as it is with the seed folded in, all in averages. Empty without averages, and for commands
// that fold nothing.
std::vector<NamedTensor> folded_average(Model& model, const leyline::AdaptationCommand& command) {
  const bool fossilises =
      command.seed_operation && command.seed_operation->operation == leyline::SeedOperation::kFossilize;
  if (!fossilises || model.settings.ema_decay <= 0) return {};
  const EmaScope averaged(model.state);
  return model.network.folded_layer(command.target_seed_id);
}

void write_averages(StepState& state, const std::vector<NamedTensor>& values) {
  const at::NoGradGuard no_grad;
  for (const auto& [id, value] : values) {
    for (auto& group : state.groups) {
      for (std::size_t i = 0; i < group.parameter_ids.size(); ++i) {
        if (group.parameter_ids[i] == id) group.averages.views[i].copy_(value);
      }
    }
  }
}

bool folds(const std::vector<LifecycleEvent>& events) {
  return !events.empty() && events.back().kind == LifecycleEvent::Kind::kFold && events.back().passed;
}

AppliedCommand refusal(const leyline::AdaptationCommand& command, const std::exception& error) {
  const std::string lack = device::lack_of_memory(error);
  if (lack.empty()) throw;
  AppliedCommand done;
  done.events = {kasmina::refusal_of(command, "out_of_memory", lack)};
  return done;
}

}  // namespace

AppliedCommand apply_command(Model& model, const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                             std::uint64_t now_ns) {
  const auto structure = model.network.structure();
  const auto version = model.network.structure_version();
  const StepState state =
      model.state;  // the same tensors: following a structure makes new ones, and keeps or drops old
  AppliedCommand done;
  std::vector<NamedTensor> averages;
  try {
    averages = folded_average(model, command);
  } catch (const std::exception& error) {
    return refusal(command, error);
  }
  done.events = model.network.apply(command, probe, now_ns);
  if (model.network.structure_version() == version) return done;
  try {
    done.change = follow_structure(model);
    done.structure_changed = true;
  } catch (const std::exception& error) {
    done = refusal(command, error);
    model.state = state;
    model.network.put_back(structure);
    return done;
  }
  if (folds(done.events)) write_averages(model.state, averages);
  return done;
}

}  // namespace esper::tolaria
