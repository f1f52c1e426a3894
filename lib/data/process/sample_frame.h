#pragma once
// What a program that produces samples says, as plain data; docs/data.md describes it for users. A frame is
//
//   "ESPR", length of the header (uint32), length of the content (uint64), header (JSON), content
//
// with little-endian numbers. Any thread.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/text/json_struct.h"
#include "config/task.h"

namespace esper::data {

inline constexpr std::string_view kFrameMagic = "ESPR";
inline constexpr std::size_t kFramePrefix = 16;                // bytes
inline constexpr std::size_t kLongestFrameHeader = 16u << 20;  // a million class names

enum class SampleType { kFloat32, kUint8, kInt64 };
constexpr auto names(SampleType) {
  using T = SampleType;
  return std::array{std::pair{T::kFloat32, "float32"}, std::pair{T::kUint8, "uint8"}, std::pair{T::kInt64, "int64"}};
}
std::int64_t bytes_of(SampleType type);

// Of one sample.
struct SampleArray {
  SampleType type = SampleType::kFloat32;
  std::vector<std::int64_t> shape;
  bool operator==(const SampleArray&) const = default;
};
constexpr auto json_members(const SampleArray*) {
  return std::tuple{base::json_member("type", &SampleArray::type), base::json_member("shape", &SampleArray::shape)};
}
// Of one sample's array.
std::int64_t elements_of(const SampleArray& array);

// The first frame, which has no content: what the samples of a part are.
struct SampleLayout {
  std::int64_t version = 0;  // of this format: 1
  std::int64_t samples = 0;  // in an epoch
  SampleArray inputs, targets;
  std::int64_t outputs = 0;          // classes, targets of a sample, or tokens of the vocabulary
  std::vector<std::string> classes;  // their names; none: they stay numbers
  bool operator==(const SampleLayout&) const = default;
};
constexpr auto json_members(const SampleLayout*) {
  using L = SampleLayout;
  return std::tuple{base::json_member("version", &L::version), base::json_member("samples", &L::samples),
                    base::json_member("inputs", &L::inputs),   base::json_member("targets", &L::targets),
                    base::json_member("outputs", &L::outputs), base::json_member("classes", &L::classes)};
}

// The header of every other frame: which batch its content is, or why there is none.
struct BatchHeader {
  std::int64_t epoch = 0, index = 0, size = 0;
  std::string error;
};
constexpr auto json_members(const BatchHeader*) {
  using B = BatchHeader;
  return std::tuple{base::json_member("epoch", &B::epoch), base::json_member("index", &B::index),
                    base::json_member("size", &B::size), base::json_member("error", &B::error)};
}

struct FramePrefix {
  std::size_t header = 0, content = 0;  // bytes
};
// Of kFramePrefix bytes. Fails for what is no frame's beginning.
base::Expected<FramePrefix> parse_prefix(std::string_view bytes);

// The message for the member "error" of a frame, which the program wrote.
std::string program_error(std::string_view error);

// Fails with the reason for what does not go together, or not with the task, or with the program's own.
base::Expected<SampleLayout> parse_layout(std::string_view text, config::Task task);

// Why the values of a batch are none that the network can take: "sample 3: ..."; empty where they are.
std::string batch_problem(const SampleLayout& layout, config::Task task, std::string_view inputs,
                          std::string_view targets);

}  // namespace esper::data
