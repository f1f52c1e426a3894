#include "data/readers/test_part.h"

#include <fmt/core.h>

#include "data/files/input_error.h"
#include "data/readers/cifar10_reader.h"
#include "data/readers/idx_reader.h"
#include "data/readers/image_list.h"
#include "data/readers/npy_reader.h"
#include "data/readers/table_reader.h"

namespace esper::data {
namespace fs = std::filesystem;
namespace {

using config::DataConfig;
using config::DataKind;

std::optional<fs::path> if_there(fs::path place) {
  std::error_code ignored;
  if (!fs::exists(place, ignored)) return std::nullopt;
  return place;
}

void require_exists(const std::string& path, const char* key) {
  std::error_code unknown;
  if (path.empty() || fs::exists(path, unknown) || unknown) return;
  throw MissingData(path, key);
}

struct NamedPart {
  const char *key, *fraction, *purpose;
  const char* way_out;  // besides
};
// Data are known by their content.
constexpr NamedPart kValidation{"validation_path", "validation_fraction", "validation",
                                "; to continue or evaluate a run that an earlier version began so, use a copy of the "
                                "data: --set data.validation_path=COPY"};
constexpr NamedPart kTest{"test_path", "test_fraction", "testing", ""};

void require_other_place(const NamedPart& part, const fs::path& place, const fs::path& other, const char* other_part) {
  if (!same_place(place, other)) return;
  fail_config(part.key, fmt::format("{} is also the {} data; name other data, or remove it and set data.{} to split a "
                                    "part off for {}{}",
                                    place.string(), other_part, part.fraction, part.purpose, part.way_out));
}

fs::path training_place(const DataConfig& config) {
  if (config.kind == DataKind::kImages) return image_training_folder(config.path);
  return config.kind == DataKind::kDatasets ? training_table(config) : fs::path(config.path);
}

void require_validation_place(const DataConfig& config) {
  if (config.validation_path.empty()) return;
  const bool saved = config.kind == DataKind::kDatasets;  // the same folder may hold a validation part beside training
  const auto place = saved ? validation_table(config) : fs::path(config.validation_path);
  require_other_place(kValidation, place, training_place(config), "training");
  require_other_place(kValidation, place, config.labels, "training");
}

// An archive shows its arrays only to who reads it.
bool is_archive(const DataConfig& config) {
  std::error_code ignored;
  return config.kind == DataKind::kNpy && fs::is_regular_file(config.test_path, ignored);
}

}  // namespace

std::optional<fs::path> own_test_part(DataKind kind, const fs::path& path) {
  switch (kind) {
    case DataKind::kMnist:
      return find_idx_test(path);
    case DataKind::kCifar10:
      return if_there(path / kCifar10TestFile);
    case DataKind::kImages:
      return if_there(path / kImageTestFolder);
    case DataKind::kNpy:
      return if_there(path / kNpyTestFile);
    case DataKind::kDatasets:
      return if_there(path / kSavedTestFolder);
    case DataKind::kDigits:
    case DataKind::kCsv:
    case DataKind::kText:
    case DataKind::kSynthetic:
    case DataKind::kTable:
    case DataKind::kParquet:
    case DataKind::kWebdataset:
    case DataKind::kTokens:
    case DataKind::kProcess:
      break;
  }
  return std::nullopt;
}

bool same_place(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

void require_places(const DataConfig& config) {
  require_exists(config.path, "path");
  require_exists(config.labels, "labels");
  require_exists(config.vocabulary, "vocabulary");
  require_exists(config.validation_path, "validation_path");
  require_exists(config.test_path, "test_path");
  require_validation_place(config);
  if (config.test_path.empty() || is_archive(config)) return;
  const auto test = own_test_part(config.kind, config.test_path).value_or(config.test_path);
  const bool images = config.kind == DataKind::kImages;
  require_other_place(kTest, test, images ? image_training_folder(config.path) : fs::path(config.path), "training");
  require_other_place(kTest, test, config.labels, "training");
  const auto validation = images ? image_validation_folder(config) : std::optional<fs::path>(config.validation_path);
  if (validation) require_other_place(kTest, test, *validation, "validation");
}

}  // namespace esper::data
