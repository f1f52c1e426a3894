#include "data/readers/test_part.h"

#include <fmt/core.h>

#include <string_view>

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

// Of the files that a folder stands for; empty: a folder of this kind is no list of files.
std::string_view ending_of_files(DataKind kind) {
  if (kind == DataKind::kParquet) return ".parquet";
  return kind == DataKind::kWebdataset ? ".tar" : "";
}

// Whether `folder` stands for the file, too; links count as what they lead to.
bool holds_file(DataKind kind, const fs::path& folder, const fs::path& file) {
  const auto ending = ending_of_files(kind);
  std::error_code error;
  if (ending.empty() || !fs::is_directory(folder, error)) return false;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ending && same_place(it->path(), file)) return true;
  }
  return false;
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

// Of another part.
struct OtherPlace {
  fs::path place;
  const char* name;
};

// What both read, and the first way out; empty: nothing.
std::string overlap_of(DataKind kind, const fs::path& place, const OtherPlace& other) {
  if (same_place(place, other.place)) {
    return fmt::format("{} is also the {} data; name other data, or remove it", place.string(), other.name);
  }
  if (holds_file(kind, other.place, place)) {
    return fmt::format(
        "{} is one of the files of the {} data in {}, which are all read; move it out of that folder, "
        "or leave the key out",
        place.string(), other.name, other.place.string());
  }
  if (holds_file(kind, place, other.place)) {
    return fmt::format(
        "the files in {} are all read, and {} of the {} data is one of them; move it out of that "
        "folder, or leave the key out",
        place.string(), other.place.string(), other.name);
  }
  return "";
}

void require_other_place(DataKind kind, const NamedPart& part, const fs::path& place, const OtherPlace& other) {
  const auto overlap = overlap_of(kind, place, other);
  if (overlap.empty()) return;
  fail_config(part.key, fmt::format("{} and train with data.{} to split a part off for {}{}", overlap, part.fraction,
                                    part.purpose, part.way_out));
}

// Where the samples lie that are read of a place that trains, or that has no part of its own for what it is to do.
fs::path samples_place(const DataConfig& config, const fs::path& path) {
  if (config.kind == DataKind::kMnist) return find_idx_training(path).value_or(path);
  return path;
}

fs::path training_place(const DataConfig& config) {
  if (config.kind == DataKind::kImages) return image_training_folder(config.path);
  return config.kind == DataKind::kDatasets ? training_table(config) : samples_place(config, config.path);
}

// Also where it is found beside the training part. Empty: there is none.
fs::path validation_place(const DataConfig& config) {
  if (config.kind == DataKind::kImages) return image_validation_folder(config).value_or("");
  if (config.kind == DataKind::kDatasets) return validation_table(config);
  return config.validation_path.empty() ? fs::path() : samples_place(config, config.validation_path);
}

void require_validation_place(const DataConfig& config) {
  if (config.validation_path.empty()) return;
  const auto place = validation_place(config);
  for (const auto& training : {training_place(config), fs::path(config.labels)}) {
    require_other_place(config.kind, kValidation, place, {training, "training"});
  }
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
  require_test_place(config);
}

void require_test_place(const DataConfig& config) {
  if (config.test_path.empty() || is_archive(config)) return;
  const auto test = own_test_part(config.kind, config.test_path).value_or(samples_place(config, config.test_path));
  for (const auto& training : {training_place(config), fs::path(config.path), fs::path(config.labels)}) {
    require_other_place(config.kind, kTest, test, {training, "training"});
  }
  require_other_place(config.kind, kTest, test, {validation_place(config), "validation"});
}

}  // namespace esper::data
