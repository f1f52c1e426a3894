#include "step/step_tensors.h"

#include <ATen/record_function.h>

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>

#include "support/models/step_fixture.h"

namespace esper::test::step_tensors_test {

using namespace esper::base;
using namespace esper::step;
using namespace esper::test;
using Role = StepTensor::Role;

namespace {

// Storages that live outside of the step and that an operation of this thread was given while the recorder lives.
class TouchRecorder {
 public:
  TouchRecorder() {
    touched().clear();
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback([](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
          for (const c10::IValue& input : call.inputs()) note(input);
          return nullptr;
        })
            .needsInputs(true)
            .scopes({at::RecordScope::FUNCTION}));
  }
  ~TouchRecorder() { at::removeCallback(handle_); }

  // Keeps the tensors, so that no address comes twice. By storage.
  static std::map<const void*, torch::Tensor>& touched() {
    static std::map<const void*, torch::Tensor> tensors;
    return tensors;
  }

 private:
  static void note(const c10::IValue& value) {
    if (value.isTensor() && value.toTensor().defined()) {
      const torch::Tensor tensor = value.toTensor();
      touched().emplace(tensor.storage().unsafeGetStorageImpl(), tensor);
    } else if (value.isTensorList()) {
      for (const torch::Tensor& tensor : value.toTensorList()) note(tensor);
    }
  }

  at::RecordFunctionGuard enable_{true};
  at::CallbackHandle handle_;
};

const void* storage_of(const torch::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

std::vector<StepSettings> all_kinds() {
  StepSettings momentum = plain_sgd(), full = adamw(), half = adamw();
  momentum.optimizer.momentum = 0.9;
  full.ema_decay = half.ema_decay = 0.9;
  full.clip_norm = half.clip_norm = 0.5;
  full.loss.label_smoothing = 0.1;
  half.compute_type = torch::kHalf;
  return {plain_sgd(), momentum, full, half};
}

}  // namespace

TEST_CASE("no two tensors of a step share memory, and each is a whole piece") {
  for (const StepSettings& settings : all_kinds()) {
    Bench bench(settings, Grouping::kTwo);
    bench.step({samples(8)});
    bench.step({samples(3)});
    std::set<const void*> storages;
    std::set<std::string> names;
    const auto tensors = step_tensors(bench.state);
    for (const auto& [name, tensor, role] : tensors) {
      INFO(name);
      storages.insert(storage_of(tensor));
      names.insert(name);
      CHECK(tensor.storage().nbytes() == tensor.nbytes());
    }
    CHECK(storages.size() == tensors.size());
    CHECK(names.size() == tensors.size());
  }
}

TEST_CASE("all that a step touches is named, or comes from the batch, or lives within the step") {
  for (const StepSettings& settings : all_kinds()) {
    Bench bench(settings, Grouping::kTwo);
    const auto microbatches = cut(samples(10), {6, 4});
    bench.step(microbatches);
    std::set<const void*> known;
    for (const auto& entry : step_tensors(bench.state)) known.insert(storage_of(entry.tensor));
    for (const Microbatch& part : microbatches) known.insert({storage_of(part.inputs), storage_of(part.targets)});
    {
      const TouchRecorder recorder;
      bench.step(microbatches);
    }
    auto& touched = TouchRecorder::touched();
    std::size_t found = 0;
    for (auto it = touched.begin(); it != touched.end(); it = touched.erase(it)) {
      found += known.contains(it->first) ? 1 : 0;
      if (known.contains(it->first)) continue;
      INFO(it->second.toString() << it->second.sizes());
      // Nobody but this recorder holds what was made within the step.
      CHECK(it->second.storage().use_count() == 1);
    }
    CHECK(found >= 10);
  }
}

TEST_CASE("scratch has no memory: what it holds before a step changes nothing") {
  for (const StepSettings& settings : all_kinds()) {
    Bench clean(settings, Grouping::kTwo), dirty(settings, Grouping::kTwo);
    for (int i = 0; i < 3; ++i) {
      for (const auto& [name, tensor, role] : step_tensors(dirty.state)) {
        if (role == Role::kScratch) torch::Tensor(tensor).fill_(77);
      }
      clean.step({samples(8, i)});
      dirty.step({samples(8, i)});
    }
    const auto a = snapshot(clean.state), b = snapshot(dirty.state);
    for (const auto& [id, tensor] : a) {
      INFO(id);
      CHECK(same_bits(tensor, b.at(id)));
    }
  }
}

TEST_CASE("constants stay, and every tensor of a checkpoint is part of the state") {
  for (const StepSettings& settings : all_kinds()) {
    Bench bench(settings, Grouping::kTwo);
    bench.step({samples(8)});
    std::set<const void*> state;
    std::vector<std::pair<torch::Tensor, torch::Tensor>> constants;
    for (const auto& [name, tensor, role] : step_tensors(bench.state)) {
      if (role == Role::kState) state.insert(storage_of(tensor));
      if (role == Role::kConstant) constants.emplace_back(tensor, tensor.clone());
    }
    bench.step({samples(8, 5)});
    for (const auto& [now, before] : constants) CHECK(same_bits(now, before));
    for (const auto& entry : named_tensors(bench.state)) {
      INFO(entry.id);
      CHECK(state.contains(storage_of(entry.tensor)));
    }
  }
}

}  // namespace esper::test::step_tensors_test
