#include "program/finite_trace.h"

#include <algorithm>
#include <array>
#include <utility>

#include "program/ivalue.h"

namespace esper::program {
namespace {

using torch::jit::Stack;

const c10::StorageImpl* storage_in(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

struct Span {
  std::int64_t begin = 0, end = 0;  // in bytes of the storage
};

Span span_of(const at::Tensor& tensor) {
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  const auto element = static_cast<std::int64_t>(tensor.element_size());
  return {tensor.storage_offset() * element, (tensor.storage_offset() + last + 1) * element};
}

template <class Visit>
void each_tensor(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) each_tensor(item, visit);
  }
}

bool begins_with_one_of(const std::string& name, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view it) { return name.starts_with(it); });
}

// What their results hold nobody has written yet.
bool leaves_uninitialized(const c10::OperatorHandle& op) {
  constexpr std::array<std::string_view, 3> kNames = {"aten::empty", "aten::new_empty", "aten::resize_"};
  return begins_with_one_of(op.operator_name().name, kNames);
}

// They write to their first argument without reading it.
bool overwrites(const c10::OperatorHandle& op) {
  constexpr std::array<std::string_view, 3> kNames = {"aten::copy_", "aten::fill_", "aten::zero_"};
  return begins_with_one_of(op.operator_name().name, kNames) || is_random(op);
}

bool is_read(const c10::OperatorHandle& op, const c10::Argument& argument) {
  return !is_written(argument) || (!argument.is_out() && !overwrites(op));
}

}  // namespace

FiniteTrace::FiniteTrace(std::vector<ExternalTensor> named) {
  for (auto& external : named) {
    const bool was_finite = range_of(external.tensor).is_finite();
    named_.push_back({std::move(external), was_finite});
  }
}

const FiniteTrace::Named* FiniteTrace::named_as(const at::Tensor& tensor) const {
  const auto* storage = storage_in(tensor);
  if (storage == nullptr || tensor.numel() == 0) return nullptr;
  const Span span = span_of(tensor);
  const Named* best = nullptr;
  for (const auto& candidate : named_) {
    const at::Tensor& whole = candidate.external.tensor;
    if (whole.numel() == 0 || storage_in(whole) != storage) continue;
    const Span its = span_of(whole);
    if (its.begin > span.begin || its.end < span.end) continue;
    if (best == nullptr || whole.numel() < best->external.tensor.numel()) best = &candidate;
  }
  return best;
}

std::optional<std::size_t> FiniteTrace::writer_of(const at::Tensor& tensor) const {
  const auto found = writers_.find(storage_in(tensor));
  return found == writers_.end() ? std::nullopt : std::optional(found->second.call);
}

void FiniteTrace::add_input(const at::Tensor& tensor) {
  Input input{range_of(tensor), std::nullopt, false};
  const Named* named = named_as(tensor);
  if (named != nullptr) input.range.name = named->external.name;
  if (!input.range.is_finite()) {
    input.writer = writer_of(tensor);
    input.was_bad = named != nullptr && !named->was_finite;
    if (named == nullptr && input.writer) input.range.name = "result of " + bad_[*input.writer].call.operation;
  }
  inputs_.push_back(std::move(input));
}

void FiniteTrace::before(const c10::OperatorHandle& op, const Stack& stack) {
  ++num_calls_;
  inputs_.clear();
  written_.clear();
  const auto& arguments = op.schema().arguments();
  const std::size_t first = stack.size() - arguments.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool reads = is_read(op, arguments[i]), writes = is_written(arguments[i]);
    each_tensor(stack[first + i], [&](const at::Tensor& tensor) {
      if (reads) add_input(tensor);
      if (writes) written_.push_back(tensor);
    });
  }
}

// Infinities count only where there is no NaN: masks hold them on purpose.
std::vector<const FiniteTrace::Input*> FiniteTrace::bad_inputs() const {
  std::vector<const Input*> nans, infinities;
  for (const Input& input : inputs_) {
    if (input.range.nans > 0 && (input.writer || input.was_bad)) nans.push_back(&input);
    if (!input.range.is_finite()) infinities.push_back(&input);
  }
  return nans.empty() ? infinities : nans;
}

FiniteTrace::Recorded FiniteTrace::recorded(const c10::OperatorHandle& op) {
  Recorded bad{{num_calls_, op.operator_name().name, {}, {}, {}}, std::nullopt, bad_.size()};
  const auto causes = bad_inputs();
  for (const Input* cause : causes) {
    if (!cause->writer || bad_[*cause->writer].origin >= bad.origin) continue;
    bad.cause = cause->writer;
    bad.origin = bad_[*cause->writer].origin;
  }
  if (!bad.cause && !causes.empty()) {
    const std::string& name = causes.front()->range.name;
    bad.call.bad_input = name.empty() ? "a tensor without a name" : name;
  }
  for (Input& input : inputs_) bad.call.inputs.push_back(std::move(input.range));
  return bad;
}

void FiniteTrace::add_output(const at::Tensor& tensor) {
  const auto* storage = storage_in(tensor);
  TensorRange range = range_of(tensor);
  if (range.is_finite()) {
    const bool is_whole = storage != nullptr && tensor.nbytes() == storage->nbytes();
    if (is_whole) writers_.erase(storage);
    return;
  }
  if (const Named* named = named_as(tensor)) range.name = named->external.name;
  bad_.back().call.outputs.push_back(std::move(range));
  if (storage != nullptr) {
    writers_.insert_or_assign(storage, Writer{tensor.storage().getWeakStorageImpl(), bad_.size() - 1});
  }
}

void FiniteTrace::after(const c10::OperatorHandle& op, const Stack& stack) {
  if (leaves_uninitialized(op)) return;
  const auto& returns = op.schema().returns();
  const std::size_t first = stack.size() - returns.size();
  for (std::size_t i = 0; i < returns.size(); ++i) {
    // A view computes nothing; what was written is among written_ already.
    if (returns[i].alias_info() != nullptr || op.operator_name().name == "aten::_unsafe_view") continue;
    each_tensor(stack[first + i], [&](const at::Tensor& tensor) { written_.push_back(tensor); });
  }
  bad_.push_back(recorded(op));
  for (const at::Tensor& tensor : written_) add_output(tensor);
  if (bad_.back().call.outputs.empty()) bad_.pop_back();
  written_.clear();
}

std::vector<BadCall> FiniteTrace::way_to(const at::Tensor& result) const {
  std::vector<BadCall> way;
  if (range_of(result).is_finite()) return way;
  // A cause is recorded before what follows from it, so this ends.
  for (auto at = writer_of(result); at; at = bad_[*at].cause) way.push_back(bad_[*at].call);
  std::ranges::reverse(way);
  return way;
}

}  // namespace esper::program
