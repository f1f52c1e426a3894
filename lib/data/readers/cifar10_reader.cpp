#include "data/readers/cifar10_reader.h"

#include <fmt/core.h>

#include <algorithm>

#include "data/files/byte_file.h"
#include "data/files/memory_need.h"

namespace esper::data {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kPixels = 3 * 32 * 32;
constexpr std::int64_t kRecord = 1 + kPixels;

RawSamples empty_part() {
  RawSamples part;
  part.sizes = {3, 32, 32};
  part.values = Bytes();
  part.class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  return part;
}

void append_file(const fs::path& file, RawSamples& part, const ReadOptions& options, BadSamples& bad) {
  const auto bytes = read_bytes(file, options);
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size % kRecord != 0) {
    fail_input(file, at_byte(size - size % kRecord),
               fmt::format("the last record is truncated: {} of {} bytes", size % kRecord, kRecord));
  }
  auto& values = std::get<Bytes>(part.values);
  // What was read before is copied once more as the part grows.
  const auto grown = values.size() + bytes.size();
  require_memory(file, "the images read so far", static_cast<std::int64_t>(grown), options);
  values.reserve(grown);
  for (std::int64_t at = 0; at < size; at += kRecord) {
    const auto label = bytes[static_cast<std::size_t>(at)];
    if (label > 9) {
      bad.report(file, at_byte(at), fmt::format("class {} is not in 0 to 9", label));
      continue;
    }
    part.labels.push_back(label);
    values.insert(values.end(), bytes.begin() + at + 1, bytes.begin() + at + kRecord);
  }
}

std::vector<fs::path> training_files(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("data_batch_") && name.ends_with(".bin")) files.push_back(entry.path());
  }
  if (files.empty()) fail_input(folder, "", "holds no data_batch_1.bin");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

RawParts read_cifar10(const fs::path& folder, const ReadOptions& options, BadSamples& bad, Parts wanted) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    fail_input(folder, "", "is not a folder; CIFAR-10 is a folder with data_batch_1.bin ...");
  RawParts parts;
  if (wanted != Parts::kTest) {
    parts.train = empty_part();
    for (const auto& file : training_files(folder)) append_file(file, parts.train, options, bad);
  }
  if (const auto test = folder / kCifar10TestFile; wanted != Parts::kTraining && fs::exists(test, error)) {
    parts.test = empty_part();
    append_file(test, *parts.test, options, bad);
  }
  return parts;
}

}  // namespace esper::data
