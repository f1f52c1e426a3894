#include "config/facts/data_facts.h"

namespace esper::config {

namespace {

constexpr std::size_t kImageRank = 3;

}  // namespace

std::optional<Pixels> pixels_of(const DataConfig& data) {
  if (data.shape.size() == kImageRank) return Pixels{data.shape[1], data.shape[2]};
  if (!data.shape.empty()) return std::nullopt;
  if (data.kind == DataKind::kCifar10) return Pixels{32, 32};
  if (data.kind == DataKind::kImages && data.image_size > 0) return Pixels{data.image_size, data.image_size};
  return std::nullopt;
}

bool names_test_part(const DataConfig& data) { return !data.test_path.empty() || data.test_fraction > 0; }

bool is_one_part(DataKind kind) {
  switch (kind) {
    case DataKind::kDigits:
    case DataKind::kCsv:
    case DataKind::kText:
    case DataKind::kTable:
    case DataKind::kParquet:
    case DataKind::kTokens:
    case DataKind::kWebdataset:
      return true;
    default:
      return false;
  }
}

bool has_tokens(const DataConfig& data, Task task) {
  const bool by_kind = data.kind == DataKind::kText || data.kind == DataKind::kTokens;
  return by_kind || (data.kind == DataKind::kProcess && task == Task::kLanguage);
}

bool image_shaped(const DataConfig& data) {
  switch (data.kind) {
    case DataKind::kMnist:
    case DataKind::kCifar10:
    case DataKind::kImages:
    case DataKind::kNpy:
    case DataKind::kWebdataset:
    case DataKind::kProcess:
      return data.shape.empty() || data.shape.size() == kImageRank;
    case DataKind::kDigits:  // rows of numbers
    case DataKind::kCsv:
    case DataKind::kSynthetic:
    case DataKind::kTable:
    case DataKind::kParquet:
    case DataKind::kDatasets:
      return data.shape.size() == kImageRank;
    case DataKind::kText:
    case DataKind::kTokens:
      break;
  }
  return false;
}

leyline::SampleShape known_sample(const DataConfig& data) {
  leyline::SampleShape sample;
  const auto pixels = pixels_of(data).value_or(Pixels{});
  sample.height = pixels.height;
  sample.width = pixels.width;
  sample.context = data.context;
  return sample;
}

std::optional<std::int64_t> known_classes(const DataConfig& data) {
  constexpr std::int64_t kTen = 10;
  switch (data.kind) {
    case DataKind::kDigits:
      return data.path.empty() ? std::optional(kTen) : std::nullopt;
    case DataKind::kCifar10:
      return kTen;
    case DataKind::kSynthetic:
      return data.synthetic.classes;
    case DataKind::kMnist:  // the format is used for others, too
    case DataKind::kCsv:
    case DataKind::kImages:
    case DataKind::kNpy:
    case DataKind::kText:
    case DataKind::kTable:
    case DataKind::kParquet:
    case DataKind::kDatasets:
    case DataKind::kWebdataset:
    case DataKind::kTokens:
    case DataKind::kProcess:
      break;
  }
  return std::nullopt;
}

}  // namespace esper::config
