#include "data/process/sample_frame.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>

#include "base/text/printable.h"
#include "data/files/raw_samples.h"
#include "data/files/target_number.h"

namespace esper::data {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 28;  // of a sample
constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;

template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

bool is_sized(const SampleArray& array) {
  for (const auto size : array.shape) {
    if (size < 1) return false;
  }
  const auto elements = checked_product(array.shape);
  return array.shape.size() <= 3 && elements && *elements <= kMostElements;
}

// Why the targets do not fit; empty where they do.
std::string problem_of_targets(const SampleLayout& layout, config::Task task) {
  const auto& [type, shape] = layout.targets;
  if (has_number_targets(task)) {
    if (type != SampleType::kFloat32 || shape.size() != 1) return "targets of this task are float32 of shape [K]";
    return shape[0] == layout.outputs ? "" : "outputs must be the number of targets";
  }
  if (type != SampleType::kInt64) return "targets of this task are int64";
  if (task == config::Task::kLanguage) return shape == layout.inputs.shape ? "" : "a target belongs to each token";
  const auto& image = layout.inputs.shape;
  const bool by_pixel = image.size() == 3 && shape.size() == 2 && shape[0] == image[1] && shape[1] == image[2];
  return shape.empty() || by_pixel ? "" : "a class has shape [], or [height, width] for each pixel of an image";
}

std::string problem_of_inputs(const SampleLayout& layout, config::Task task) {
  const auto& [type, shape] = layout.inputs;
  if (task == config::Task::kLanguage) {
    return type == SampleType::kInt64 && shape.size() == 1 ? "" : "inputs of task language are int64 of shape [T]";
  }
  if (type == SampleType::kInt64) return "inputs are float32 or uint8";
  return shape.size() == 1 || shape.size() == 3 ? "" : "inputs have shape [features] or [channels, height, width]";
}

std::string problem_of(const SampleLayout& layout, config::Task task) {
  if (layout.version != 1) return "its version is not 1";
  if (layout.samples < 1 || layout.samples > kMostSamples) return "it has no samples, or too many";
  if (!is_sized(layout.inputs) || !is_sized(layout.targets)) return "a shape is out of range";
  if (layout.outputs < 1 || layout.outputs > kMaxClasses) return "outputs is missing or out of range";
  const auto names = static_cast<std::int64_t>(layout.classes.size());
  if (names != 0 && names != layout.outputs) return "classes does not name each of the outputs";
  auto problem = problem_of_inputs(layout, task);
  return problem.empty() ? problem_of_targets(layout, task) : problem;
}

// The first element that `bad` says something about.
template <class T, class Bad>
std::string first_problem(std::string_view bytes, std::int64_t elements, Bad bad) {
  const auto count = static_cast<std::int64_t>(bytes.size() / sizeof(T));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto problem = bad(number_at<T>(bytes, static_cast<std::size_t>(i) * sizeof(T)));
    if (!problem.empty()) return fmt::format("sample {}: {}", i / elements, problem);
  }
  return "";
}

}  // namespace

std::int64_t bytes_of(SampleType type) {
  switch (type) {
    case SampleType::kFloat32:
      return 4;
    case SampleType::kUint8:
      return 1;
    case SampleType::kInt64:
      break;
  }
  return 8;
}

std::int64_t elements_of(const SampleArray& array) { return elements_of(array.shape); }

base::Expected<FramePrefix> parse_prefix(std::string_view bytes) {
  if (!bytes.starts_with(kFrameMagic)) return base::failure("it sent something that is not a frame");
  const auto header = number_at<std::uint32_t>(bytes, 4);
  const auto content = number_at<std::uint64_t>(bytes, 8);
  if (header > kLongestFrameHeader) return base::failure("it sent a frame with a header that is too long");
  return FramePrefix{header, static_cast<std::size_t>(content)};
}

std::string program_error(std::string_view error) {
  return "it says: " + base::shortened(base::printable_line(error), 400);
}

base::Expected<SampleLayout> parse_layout(std::string_view text, config::Task task) {
  const auto document = base::parse_json(text, kLongestFrameHeader);
  if (!document) return base::failure("its first frame: " + document.error());
  const auto error = document->find("error");
  if (error != document->end() && error->is_string()) return base::failure(program_error(error->get<std::string>()));
  auto layout = base::from_json<SampleLayout>(*document);
  if (!layout) return base::failure("its first frame: " + layout.error());
  if (layout->outputs == 0) layout->outputs = static_cast<std::int64_t>(layout->classes.size());
  if (layout->outputs == 0 && has_number_targets(task) && layout->targets.shape.size() == 1) {
    layout->outputs = layout->targets.shape[0];
  }
  if (const auto problem = problem_of(*layout, task); !problem.empty()) {
    return base::failure("its first frame: " + problem);
  }
  return layout;
}

std::string batch_problem(const SampleLayout& layout, config::Task task, std::string_view inputs,
                          std::string_view targets) {
  const auto of_class = [&](std::int64_t value) {
    if (value >= 0 && value < layout.outputs) return std::string();
    return fmt::format("{} is not in 0 to {}", value, layout.outputs - 1);
  };
  const auto of_number = [](float value) { return std::string(std::isfinite(value) ? "" : "a number is not finite"); };
  const auto elements = elements_of(layout.inputs), target_elements = elements_of(layout.targets);
  std::string problem;
  if (layout.inputs.type == SampleType::kFloat32) problem = first_problem<float>(inputs, elements, of_number);
  if (layout.inputs.type == SampleType::kInt64) problem = first_problem<std::int64_t>(inputs, elements, of_class);
  if (!problem.empty()) return problem;
  if (layout.targets.type == SampleType::kInt64) {
    return first_problem<std::int64_t>(targets, target_elements, of_class);
  }
  return first_problem<float>(targets, target_elements, [task](float value) { return target_problem(value, task); });
}

}  // namespace esper::data
