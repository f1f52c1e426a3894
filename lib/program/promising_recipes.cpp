#include "program/promising_recipes.h"

#include <algorithm>

namespace esper::program {
namespace {

// Products of fewer multiplications than this cost more to call than to compute.
constexpr std::int64_t kSmallProduct = 4096;

// From here on it may matter in which order a product's operands and its result lie.
constexpr std::int64_t kWideProduct = std::int64_t{1} << 22;

std::int64_t multiplications(const Program& program, const Operation& operation, std::size_t first) {
  const auto* a = std::get_if<TensorArgument>(&operation.arguments[first]);
  const auto* b = std::get_if<TensorArgument>(&operation.arguments[first + 1]);
  if (a == nullptr || b == nullptr) return 0;
  const auto& left = program.values[static_cast<std::size_t>(a->id)].sizes;
  const auto& right = program.values[static_cast<std::size_t>(b->id)].sizes;
  return left.size() == 2 && right.size() == 2 ? left[0] * left[1] * right[1] : 0;
}

bool has_small_product(const Program& program) {
  return std::ranges::any_of(program.operations, [&](const Operation& operation) {
    const bool biased = operation.name == "aten::addmm";
    if (!biased && operation.name != "aten::mm") return false;
    const std::int64_t size = multiplications(program, operation, biased ? 1 : 0);
    return size > 0 && size <= kSmallProduct;
  });
}

bool multiplies_in_bf16(const Program& program) {
  return std::ranges::any_of(program.operations, [&](const Operation& operation) {
    if (operation.name != "aten::mm" && operation.name != "aten::addmm") return false;
    const auto* a = std::get_if<TensorArgument>(&operation.arguments[0]);
    return a != nullptr && program.values[static_cast<std::size_t>(a->id)].dtype == c10::ScalarType::BFloat16;
  });
}

bool has_wide_layer(const Program& program) {
  return std::ranges::any_of(program.operations, [&](const Operation& operation) {
    return operation.name == "aten::addmm" && multiplications(program, operation, 1) >= kWideProduct;
  });
}

// Over the features of each sample: its loops want them side by side.
bool normalises_samples(const Program& program) {
  return std::ranges::any_of(program.operations,
                             [](const Operation& operation) { return operation.name == "aten::native_layer_norm"; });
}

bool pools_backward(const Program& program) {
  return std::ranges::any_of(program.operations, [](const Operation& operation) {
    return operation.name == "aten::max_pool2d_with_indices_backward";
  });
}

bool has_tiles(const std::string& instruction_set) { return instruction_set.find("amx_bf16") != std::string::npos; }

}  // namespace

std::vector<std::string> promising_recipes(const Program& program, const std::string& device,
                                           const std::string& instruction_set) {
  if (device != "cpu") return {"default"};  // the other recipes were measured there
  if (pools_backward(program)) return {"aten_pool"};
  const bool may_turn = has_wide_layer(program) && !normalises_samples(program);
  if (multiplies_in_bf16(program)) {
    // A processor with tiles for bf16 is fast at its products; others are faster at float32's.
    if (has_tiles(instruction_set)) return {"default"};
    return may_turn ? std::vector<std::string>{"single_turned", "single"}
                    : std::vector<std::string>{"single", "default"};
  }
  if (may_turn) return {"turned", "default"};
  if (has_small_product(program)) return {"loops", "default"};
  return {"default"};
}

}  // namespace esper::program
