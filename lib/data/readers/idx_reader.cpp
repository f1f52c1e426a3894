#include "data/readers/idx_reader.h"

#include <fmt/core.h>

#include <algorithm>

#include "data/files/byte_file.h"
#include "data/files/input_error.h"
#include "data/files/memory_need.h"

namespace esper::data {
namespace fs = std::filesystem;
namespace {

constexpr const char *kTrainingPart = "train", *kTestPart = "t10k";

struct IdxArray {
  std::vector<std::int64_t> sizes;
  Bytes values;
};

std::uint32_t big_endian_32(const std::uint8_t* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

// Format: two zero bytes, the element type, the number of dimensions, each dimension in four bytes (big-endian), the
// elements. See yann.lecun.com/exdb/mnist.
IdxArray read_idx_file(const fs::path& file, const ReadOptions& options) {
  constexpr std::uint8_t kUnsignedByte = 0x08;
  auto bytes = read_bytes(file, options);
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size < 4) fail_input(file, at_byte(size), "the file ends inside the header");
  if (bytes[0] != 0 || bytes[1] != 0)
    fail_input(file, at_byte(0), "not an IDX file: it must begin with two zero bytes");
  if (bytes[2] != kUnsignedByte)
    fail_input(file, at_byte(2), fmt::format("element type {}; only 8 (unsigned byte) is supported", bytes[2]));
  const std::int64_t dimensions = bytes[3], header = 4 + 4 * dimensions;
  if (dimensions < 1 || dimensions > 4)
    fail_input(file, at_byte(3), fmt::format("{} dimensions; 1 to 4 are supported", dimensions));
  if (size < header) fail_input(file, at_byte(size), "the file ends inside the header");
  IdxArray array;
  for (std::int64_t d = 0; d < dimensions; ++d) array.sizes.push_back(big_endian_32(bytes.data() + 4 + 4 * d));
  const auto elements = checked_product(array.sizes);
  if (!elements || *elements != size - header) {
    fail_input(file, at_byte(header),
               fmt::format("the header declares {} elements, the file holds {}",
                           elements ? std::to_string(*elements) : "more than 2^63", size - header));
  }
  if (*elements == 0) fail_input(file, at_byte(4), "holds no elements");
  bytes.erase(bytes.begin(), bytes.begin() + header);
  array.values = std::move(bytes);
  return array;
}

RawSamples read_pair(const fs::path& images_file, const fs::path& labels_file, const ReadOptions& options) {
  auto images = read_idx_file(images_file, options);
  const auto labels = read_idx_file(labels_file, options);
  if (images.sizes.size() < 2) fail_input(images_file, at_byte(3), "one dimension; images have 2 to 4");
  if (labels.sizes.size() != 1) fail_input(labels_file, at_byte(3), "labels have one dimension");
  if (labels.sizes[0] != images.sizes[0]) {
    fail_input(labels_file, at_byte(4),
               fmt::format("{} labels for {} images in {}", labels.sizes[0], images.sizes[0], images_file.string()));
  }
  RawSamples samples;
  samples.sizes.assign(images.sizes.begin() + 1, images.sizes.end());
  if (samples.sizes.size() == 2) samples.sizes.insert(samples.sizes.begin(), 1);
  samples.values = std::move(images.values);
  require_memory(labels_file, "its labels", labels.sizes[0] * std::int64_t{sizeof(std::int64_t)}, options);
  samples.labels.assign(labels.values.begin(), labels.values.end());
  return samples;
}

// Both spellings of the wild, packed or not; nothing if none is there.
std::optional<fs::path> find_in(const fs::path& folder, const std::string& part, const std::string& what,
                                char dimensions) {
  for (const char* separator : {"-", "."}) {
    for (const char* packed : {"", ".gz"}) {
      auto file = folder / (part + "-" + what + separator + "idx" + dimensions + "-ubyte" + packed);
      std::error_code ignored;
      if (fs::exists(file, ignored)) return file;
    }
  }
  return std::nullopt;
}

std::optional<RawSamples> read_part(const fs::path& folder, const std::string& part, const ReadOptions& options) {
  const auto images = find_in(folder, part, "images", '3'), labels = find_in(folder, part, "labels", '1');
  if (!images && !labels) return std::nullopt;
  if (!images || !labels) {
    const std::string missing = images ? "labels-idx1" : "images-idx3";
    fail_input(folder, "", "holds no " + part + "-" + missing + "-ubyte (.gz)");
  }
  return read_pair(*images, *labels, options);
}

void replace_last(std::string& text, const std::string& from, const std::string& to) {
  if (const auto at = text.rfind(from); at != text.npos) text.replace(at, from.size(), to);
}

}  // namespace

RawParts read_idx(const fs::path& path, const ReadOptions& options, Parts wanted) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    RawParts parts;
    if (wanted != Parts::kTest) {
      auto train = read_part(path, kTrainingPart, options);
      if (!train) fail_input(path, "", "holds no train-images-idx3-ubyte (.gz)");
      parts.train = std::move(*train);
    }
    if (wanted != Parts::kTraining) parts.test = read_part(path, kTestPart, options);
    return parts;
  }
  if (wanted == Parts::kTest) return {};
  auto name = path.filename().string();
  if (name.find("images") == name.npos) {
    fail_input(path, "",
               "expected a folder with train-images-idx3-ubyte and train-labels-idx1-ubyte (.gz), or a file of images "
               "whose name holds \"images\" (docs/data.md lists the names)");
  }
  replace_last(name, "images", "labels");
  replace_last(name, "idx3", "idx1");
  return {.train = read_pair(path, path.parent_path() / name, options)};
}

std::optional<fs::path> find_idx_training(const fs::path& folder) {
  return find_in(folder, kTrainingPart, "images", '3');
}
std::optional<fs::path> find_idx_test(const fs::path& folder) { return find_in(folder, kTestPart, "images", '3'); }

}  // namespace esper::data
