#include "program/replay/replay.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <sys/mman.h>
#include <torch/types.h>
#include <unistd.h>

#include "base/error.h"
#include "program/ivalue.h"
#include "program/replay/replay_planner.h"

namespace esper::program {
namespace {

// A tensor whose memory is owned elsewhere and can be exchanged under all of its views.
at::Tensor movable(const at::Tensor& tensor) {
  const c10::Storage storage(c10::Storage::use_byte_size_t{}, tensor.nbytes(),
                             c10::DataPtr(tensor.data_ptr(), tensor.device()), nullptr, /*resizable=*/false);
  at::Tensor result = at::empty({0}, tensor.options());
  return result.set_(storage, 0, tensor.sizes(), tensor.strides());
}

}  // namespace

Replay::Replay(const Program& program, std::span<const at::Tensor> inputs, std::span<const std::size_t> moving) {
  ESPER_CHECK(inputs.size() == program.inputs.size(), "a replay needs every input of its program");
  const at::NoGradGuard no_grad;
  const at::AutoDispatchBelowADInplaceOrView below;
  for (const at::Tensor& input : inputs) values_.push_back(input.detach());
  for (const std::size_t input : moving) values_[input] = movable(values_[input]);
  values_.resize(program.values.size());
  ReplayPlanner(program, *this).run();
}

void Replay::rebind(std::size_t input, const at::Tensor& tensor) {
  values_[input].storage().unsafeGetStorageImpl()->set_data_ptr_noswap(
      c10::DataPtr(tensor.data_ptr(), tensor.device()));
}

void Replay::keep_results(const Call& call) {
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const std::vector<ValueId>& ids = call.results[i];
    if (ids.empty()) continue;
    if (stack_[i].isTensor()) {
      if (ids.front() != kNoValue) values_[static_cast<std::size_t>(ids.front())] = stack_[i].toTensor();
      continue;
    }
    const auto tensors = stack_[i].toTensorVector();
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (ids[k] != kNoValue) values_[static_cast<std::size_t>(ids[k])] = tensors[k];
    }
  }
}

void Replay::run() {
  const at::NoGradGuard no_grad;
  const at::AutoDispatchBelowADInplaceOrView below;
  const TensorOf value = [this](ValueId id) { return values_[static_cast<std::size_t>(id)]; };
  for (const Call& call : calls_) {
    stack_.assign(call.arguments.begin(), call.arguments.end());
    for (const Patch& patch : call.patches) stack_[patch.argument] = to_ivalue(patch.source, *patch.schema, value);
    call.op.callBoxed(stack_);
    keep_results(call);
    for (const ValueId id : call.dead_after) values_[static_cast<std::size_t>(id)].reset();
  }
  stack_.clear();
}

// A run writes all that it reads there. Only whole pages: the allocator may have others' bytes in the rest.
void Replay::release_intermediates() const {
  if (!arena_.is_cpu()) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(arena_.data_ptr());
  const std::uintptr_t first = (begin + page - 1) / page * page, end = (begin + arena_.nbytes()) / page * page;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace esper::program
