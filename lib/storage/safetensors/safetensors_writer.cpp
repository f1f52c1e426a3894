#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "storage/little_endian.h"
#include "storage/safetensors/safetensors.h"
#include "storage/safetensors/safetensors_header.h"

namespace esper::storage {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kHeaderAlignment = 8;

std::vector<const TensorView*> in_file_order(const std::vector<TensorView>& tensors) {
  std::vector<const TensorView*> sorted;
  sorted.reserve(tensors.size());
  for (const auto& tensor : tensors) sorted.push_back(&tensor);
  std::ranges::sort(sorted, [](const TensorView* left, const TensorView* right) {
    return left->dtype != right->dtype ? left->dtype > right->dtype : left->name < right->name;
  });
  return sorted;
}

void check_tensor(const TensorView& tensor) {
  ESPER_CHECK(tensor.name != kMetadataKey, "a tensor must not be named __metadata__");
  ESPER_CHECK(tensor.shape.size() <= kMaxRank, "tensor " + tensor.name + " has over 64 dimensions");
  ESPER_CHECK(byte_count(tensor.shape, tensor.dtype) == tensor.bytes.size(),
              "tensor " + tensor.name + ": bytes do not match shape and type");
}

// JSON text of a string; our own names are UTF-8.
std::string json_text(const std::string& text) { return ordered_json(text).dump(); }

std::string header_text(const std::vector<const TensorView*>& tensors, const TensorMetadata& metadata) {
  std::string text = "{";
  if (!metadata.empty()) text += json_text(kMetadataKey) + ":" + ordered_json(metadata).dump();
  std::unordered_set<std::string_view> names;
  std::uint64_t offset = 0;
  for (const TensorView* tensor : tensors) {
    check_tensor(*tensor);
    ESPER_CHECK(names.insert(tensor->name).second, "two tensors are named " + tensor->name);
    if (text.size() > 1) text += ',';
    const std::uint64_t end = offset + tensor->bytes.size();
    text += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", json_text(tensor->name),
                        dtype_name(tensor->dtype), ordered_json(tensor->shape).dump(), offset, end);
    offset = end;
  }
  text += '}';
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::vector<TensorView>& tensors, const TensorMetadata& metadata, const ByteSink& sink) {
  const auto sorted = in_file_order(tensors);
  const std::string header = header_text(sorted, metadata);
  ESPER_CHECK(header.size() <= kMaxSafetensorsHeaderBytes, "the header of a safetensors file is over 100 MB");
  std::vector<std::byte> start;
  start.reserve(sizeof(std::uint64_t) + header.size());
  append_little_endian<std::uint64_t>(start, header.size());
  const Bytes body = bytes_of(header);
  start.insert(start.end(), body.begin(), body.end());
  sink(start);
  for (const TensorView* tensor : sorted) {
    if (!tensor->bytes.empty()) sink(tensor->bytes);
  }
}

}  // namespace esper::storage
