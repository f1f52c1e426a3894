#include "drill/tensor_comparison.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "storage/real_file_system.h"
#include "storage/safetensors/safetensors.h"

namespace esper::drill {
namespace {

using storage::TensorView;

// By the beginnings of names, as step/step_state.h and step/model.h list them.
constexpr std::string_view kParameters = "parameters and buffers";
constexpr std::array kKinds{std::pair<std::string_view, std::string_view>{"optimizer.", "optimizer state"},
                            std::pair<std::string_view, std::string_view>{"ema.", "averaged parameters"},
                            std::pair<std::string_view, std::string_view>{"averaged.", "averaged parameters"},
                            std::pair<std::string_view, std::string_view>{"scaler.", "loss scale"},
                            std::pair<std::string_view, std::string_view>{"metrics.", "sums of the epoch"},
                            std::pair<std::string_view, std::string_view>{"aggregation.", "sums of the epoch"},
                            std::pair<std::string_view, std::string_view>{"control.", "controls of seeds"},
                            std::pair<std::string_view, std::string_view>{"rng.", "random number generators"}};

std::string kind_of(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kKinds, [&](const auto& kind) { return name.starts_with(kind.first); });
  return std::string(found == kKinds.end() ? kParameters : found->second);
}

storage::LoadedSafetensors load(const std::string& path) {
  auto loaded = storage::load_safetensors(storage::real_file_system(), path, std::numeric_limits<std::uint64_t>::max());
  if (!loaded) throw base::Error(base::ExitCode::kCheckpoint, path + ": " + loaded.error().problem);
  return std::move(*loaded);
}

std::map<std::string, const TensorView*> by_name(const storage::LoadedSafetensors& file) {
  std::map<std::string, const TensorView*> tensors;
  for (const auto& tensor : file.contents.tensors) tensors[tensor.name] = &tensor;
  return tensors;
}

std::string difference_of(const TensorView& reference, const TensorView& other) {
  if (reference.dtype != other.dtype || reference.shape != other.shape) {
    return fmt::format("{} is {} {}, not {} {}", reference.name, dtype_name(other.dtype), other.shape,
                       dtype_name(reference.dtype), reference.shape);
  }
  if (std::ranges::equal(reference.bytes, other.bytes)) return {};
  const auto width = static_cast<std::size_t>(bytes_per_element(reference.dtype));
  const auto at = std::ranges::mismatch(reference.bytes, other.bytes).in1 - reference.bytes.begin();
  const std::size_t elements = reference.bytes.size() / width;
  std::size_t differ = 0;
  for (std::size_t i = 0; i < elements; ++i)
    differ += std::memcmp(reference.bytes.data() + i * width, other.bytes.data() + i * width, width) != 0 ? 1 : 0;
  return fmt::format("{}: {} of {} elements differ, the first is element {}", reference.name, differ, elements,
                     static_cast<std::size_t>(at) / width);
}

}  // namespace

std::vector<Aspect> compare_tensors(const std::string& reference, const std::string& other) {
  const auto first_file = load(reference), second_file = load(other);
  const auto first = by_name(first_file), second = by_name(second_file);
  std::map<std::string, Aspect> aspects;
  const auto aspect_of = [&](const std::string& name) -> Aspect& {
    Aspect& aspect = aspects[kind_of(name)];
    aspect.name = kind_of(name);
    aspect.unit = "tensors";
    return aspect;
  };
  for (const auto& [name, tensor] : first) {
    Aspect& aspect = aspect_of(name);
    ++aspect.compared;
    if (!aspect.difference.empty()) continue;
    const auto found = second.find(name);
    aspect.difference = found == second.end() ? name + " is missing" : difference_of(*tensor, *found->second);
  }
  for (const auto& [name, tensor] : second) {
    if (first.contains(name)) continue;
    Aspect& aspect = aspect_of(name);
    if (aspect.difference.empty()) aspect.difference = name + " is not in the reference";
  }
  std::vector<Aspect> all;
  for (auto& [kind, aspect] : aspects) all.push_back(std::move(aspect));
  return all;
}

}  // namespace esper::drill
