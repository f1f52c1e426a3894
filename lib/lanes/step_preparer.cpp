// What is to be prepared next, and what must be ready at once.

#include "lanes/step_preparer.h"

#include <algorithm>
#include <utility>

#include "base/text/rounding.h"
#include "device/facts.h"
#include "device/out_of_memory.h"
#include "device/rng.h"
#include "lanes/lane_comparison.h"
#include "lanes/structure.h"
#include "leyline/telemetry.h"

namespace esper::lanes {

using base::milliseconds;
using step::Microbatch;
using step::Model;

namespace {

using config::Lane;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// What a rehearsal draws, the run does not miss.
class KeptRandomNumbers {
 public:
  explicit KeptRandomNumbers(torch::Device device) : device_(device), state_(device::rng_state(device)) {}
  ~KeptRandomNumbers() { device::set_rng_state(device_, state_); }
  KeptRandomNumbers(const KeptRandomNumbers&) = delete;

 private:
  torch::Device device_;
  device::RngState state_;
};

std::vector<Microbatch> copies_of(std::span<const Microbatch> microbatches) {
  const torch::NoGradGuard no_grad;
  std::vector<Microbatch> copies;
  for (const auto& [inputs, targets] : microbatches) copies.push_back({inputs.clone(), targets.clone()});
  return copies;
}

}  // namespace

bool StepPreparer::is_on() const {
  return config_.compile.ahead > 0 && config_.lane != Lane::kEager && services_.twin != nullptr;
}

void StepPreparer::tell_unprepared(const std::string& change, const std::string& reason) {
  services_.tell(event("tolaria.growth_unprepared"_event, Level::kWarning, {{"change", change}, {"reason", reason}}));
}

// The run goes on without what there is no memory for.
bool StepPreparer::gives_up_for(const std::exception& error) {
  if (device::lack_of_memory(error).empty()) return false;
  gave_up_ = true;
  rehearsal_.reset();
  return true;
}

void StepPreparer::keep_example(const StepPlan& plan, Batch microbatches, std::int64_t left) {
  if (gave_up_ || examples_.contains(plan.shape)) return;
  try {
    examples_[plan.shape] = {plan.sizes, copies_of(microbatches), left};
  } catch (const std::exception& error) {
    if (!gives_up_for(error)) throw;
    tell_unprepared("any", words_of(error));
  }
}

void StepPreparer::prepare(const StructureInUse& in_use, std::span<const LikelyChange> likely,
                           std::int64_t steps_left) {
  if (gave_up_) return;
  try {
    const KeptRandomNumbers kept(device_);
    take_compiled();
    const SeedAliases aliases(model_);
    std::vector<KnownStructure*> next;
    bool worked = false;
    for (const LikelyChange& change : likely) {
      const std::string place = in_use.structure + aliases.rename(words_of(change));
      if (KnownStructure* known = look_at(change, place, in_use, worked)) next.push_back(known);
      if (next.size() == StepLibrary::kMost / 2) break;
    }
    for (KnownStructure* known : next) {
      for (const KnownStep& step : known->steps) {
        const bool wanted = step.waits_for_package() && !step.in_cache && pays(step, in_use, steps_left);
        if (wanted && !in_use.compiling) submit(*known, step);
      }
    }
  } catch (const std::exception& error) {
    if (!gives_up_for(error)) throw;
    tell_unprepared("any", words_of(error));
  }
}

// What the change leads to, once it was rehearsed. worked: the one piece of work of this call was done.
KnownStructure* StepPreparer::look_at(const LikelyChange& change, const std::string& place,
                                      const StructureInUse& in_use, bool& worked) {
  const auto is_open = [&] { return rehearsal_ && rehearsal_->place == place; };
  if ((is_open() || !outlook_.contains(place)) && !std::exchange(worked, true)) rehearse(change, place, in_use);
  if (is_open()) return nullptr;
  const auto leads_to = outlook_.find(place);
  if (leads_to == outlook_.end() || leads_to->second.empty()) return nullptr;
  KnownStructure* known = library_.find(leads_to->second);
  if (known == nullptr) {  // forgotten since
    outlook_.erase(leads_to);
    return nullptr;
  }
  const bool arrived = std::ranges::any_of(
      known->steps, [](const KnownStep& step) { return step.waits_for_package() && step.in_cache; });
  if (arrived && !std::exchange(worked, true)) check_arrived(change, *known);
  return known;
}

bool StepPreparer::has_room() {
  const auto memory = services_.memory ? services_.memory() : device::memory_figures(device_);
  if (has_room_for_twin(memory)) return true;
  gave_up_ = true;
  const auto megabytes = room_for_twin(memory) >> 20;
  tell_unprepared("any", "a second network may not fit into memory: " + std::to_string(megabytes) + " MB are free");
  return false;
}

void StepPreparer::finish(const std::string& structure) {
  const KnownStructure* const known = library_.find(structure);
  const bool ready =
      known != nullptr && std::ranges::none_of(known->steps, [](const auto& step) { return step.waits_for_package(); });
  if (ready) return;
  if (gave_up_ || !has_room()) return library_.drop(structure);  // it begins as one that nobody foresaw
  const auto begin = services_.clock.now();
  try {
    const KeptRandomNumbers kept(device_);
    const auto twin = make_twin(services_.twin, model_);
    KnownStructure& finished = known != nullptr ? *library_.find(structure) : record_all(structure, *twin);
    for (KnownStep& step : finished.steps) {
      try_package(*twin, finished, step);
      if (!step.waits_for_package()) continue;
      wait(finished, step);
      try_package(*twin, finished, step);
    }
    finished.prepare_ms += milliseconds(services_.clock.now() - begin);
  } catch (const std::exception& error) {
    gives_up_for(error);
    library_.drop(structure);
    tell_unprepared("the structure that came", words_of(error));
  }
}

KnownStructure& StepPreparer::record_all(const std::string& structure, Model& twin) {
  KnownStructure made;
  made.structure = structure;
  for (const auto& [shape, example] : examples_) {
    record_shape(twin, made, shape, {.structure = structure});
    compare_replay(twin, made.steps.back());
  }
  return library_.put(std::move(made));
}

}  // namespace esper::lanes
