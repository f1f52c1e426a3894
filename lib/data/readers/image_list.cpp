#include "data/readers/image_list.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text/ascii.h"
#include "base/text/printable.h"
#include "data/files/byte_file.h"
#include "data/order/selection.h"
#include "data/table/table_columns.h"
#include "data/table/table_rows.h"
#include "data/table/table_split.h"

namespace esper::data {
namespace fs = std::filesystem;
namespace {

using config::DataConfig;

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  if (error) fail_input(folder, "", "cannot be listed: " + error.message());
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool is_image_name(const fs::path& file) {
  const auto extension = base::lower_case(file.extension().string());
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

ImageList list_folder(const fs::path& folder) {
  ImageList list;
  auto& targets = list.targets;
  std::error_code ignored;
  for (const auto& entry : sorted_entries(folder)) {
    if (!fs::is_directory(entry, ignored) || entry.filename().string().starts_with(".")) continue;
    const auto before = list.files.size();
    for (const auto& file : sorted_entries(entry)) {
      if (is_image_name(file)) list.files.push_back(file);
    }
    if (list.files.size() == before) continue;
    targets.labels.resize(list.files.size(), static_cast<std::int64_t>(targets.class_names.size()));
    targets.class_names.push_back(entry.filename().string());
    targets.class_places.push_back(list.files[before].string());
  }
  if (list.files.empty()) {
    fail_input(folder, "", "holds no images; expected CLASS/*.jpg or CLASS/*.png, or data.labels with a CSV file");
  }
  return list;
}

std::optional<fs::path> first_folder(std::initializer_list<fs::path> candidates) {
  std::error_code ignored;
  for (const auto& candidate : candidates) {
    if (fs::is_directory(candidate, ignored)) return candidate;
  }
  return std::nullopt;
}

ImageList list_test_folder(const fs::path& root) {
  return list_folder(first_folder({root / kImageTestFolder}).value_or(root));
}

ImageParts list_folders(const DataConfig& config, TestPart test) {
  ImageParts parts{list_folder(image_training_folder(config.path)), {}, std::nullopt};
  const auto own = image_validation_folder(config);
  if (own) parts.validation = list_folder(*own);
  const SplitFractions fractions{own ? 0 : config.validation_fraction, config.test_fraction};
  const auto count = static_cast<std::int64_t>(parts.train.files.size());
  require_splittable(config.path, count, fractions);
  const auto split = split_indices(count, fractions, config.split_seed);
  if (!own) parts.validation = chosen_images(parts.train, split.validation);
  if (fractions.test > 0) parts.test = chosen_images(parts.train, split.test);
  parts.train = chosen_images(parts.train, split.train);
  if (test == TestPart::kRead && !config.test_path.empty()) parts.test = list_test_folder(config.test_path);
  return parts;
}

// Whether a path of a file of labels stays below the folder; links count as what they lead to.
bool stays_below(const fs::path& folder, const fs::path& relative) {
  if (relative.empty() || relative.is_absolute()) return false;
  if (std::find(relative.begin(), relative.end(), fs::path("..")) != relative.end()) return false;
  std::error_code error;
  const auto root = fs::canonical(folder, error);
  if (error) return false;
  const auto file = fs::weakly_canonical(folder / relative, error);
  if (error) return false;
  return std::mismatch(root.begin(), root.end(), file.begin(), file.end()).first == root.end();
}

// The rows of one file of labels: file names, and targets.
class LabelledImages {
 public:
  LabelledImages(const DataConfig& config, const ReadOptions& options, BadSamples& bad)
      : config_(config), options_(options), bad_(bad) {}

  ImageParts list(TestPart test) {
    const auto all = read(config_.labels);
    const bool own = !config_.validation_path.empty();
    const SplitFractions fractions{own ? 0 : config_.validation_fraction, config_.test_fraction};
    const auto split = split_rows(all, fractions, config_.split_seed, config_.labels, bad_);
    ImageParts parts{images(all, split.train, config_.labels), {}, std::nullopt};
    parts.validation = own ? list_file(config_.validation_path) : images(all, split.validation, config_.labels);
    if (test == TestPart::kUnread) return parts;
    if (!config_.test_path.empty()) parts.test = list_file(config_.test_path);
    if (fractions.test > 0) parts.test = images(all, split.test, config_.labels);
    return parts;
  }

  // Where the run file names no target, it is the column that data.labels has it in, if that file is still there.
  ImageList list_alone(const fs::path& file) {
    std::error_code ignored;
    if (config_.columns.target.empty() && fs::exists(config_.labels, ignored)) {
      const auto bytes = read_bytes(config_.labels, options_);
      target_ = table_header({config_.labels, text_of(bytes)}).back();
    }
    return list_file(file);
  }

 private:
  static std::string_view text_of(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  ImageList list_file(const fs::path& file) {
    const auto rows = read(file);
    return images(rows, all_rows(rows), file);
  }

  TableRows read(const fs::path& file) {
    const auto bytes = read_bytes(file, options_);
    const TableText table{file, text_of(bytes)};
    const auto header = table_header(table);
    config::ColumnsConfig columns;
    columns.target = config_.columns.target.empty() ? default_target(header, file) : config_.columns.target;
    if (std::ranges::find(columns.target, header.front()) != columns.target.end()) {
      fail_input(file, "line 1",
                 "the first column names the images, and " + base::in_quotes(header.front()) + " is the target");
    }
    columns.features = columns.categorical = {header.front()};
    const auto encoding = chosen_columns(header, columns, options_.task, file);
    return read_rows(table, encoding, TargetColumns::kRead, options_, bad_);
  }

  // The last column of the first file that is read, by its name in the others: they may have more columns.
  std::vector<std::string> default_target(const std::vector<std::string>& header, const fs::path& file) {
    if (target_.empty()) target_ = header.back();
    fields_of({target_}, header, file);
    return {target_};
  }

  ImageList images(const TableRows& rows, std::vector<std::int64_t> chosen, const fs::path& file) {
    const auto& names = rows.inputs[0];
    const auto name_of = [&](std::int64_t row) {
      return names.words[static_cast<std::size_t>(names.codes[static_cast<std::size_t>(row)])];
    };
    std::erase_if(chosen, [&](std::int64_t row) {
      if (stays_below(config_.path, name_of(row))) return false;
      bad_.report(file, fmt::format("line {}", rows.lines[static_cast<std::size_t>(row)]),
                  base::in_quotes(name_of(row)) + " is not a path below " + config_.path);
      return true;
    });
    ImageList list;
    list.targets = chosen_targets(rows.targets, chosen);
    for (const auto row : chosen) list.files.push_back(fs::path(config_.path) / name_of(row));
    return list;
  }

  const DataConfig& config_;
  const ReadOptions& options_;
  BadSamples& bad_;
  std::string target_;  // where the run file names none; empty until it is known
};

}  // namespace

fs::path image_training_folder(const fs::path& folder) { return first_folder({folder / "train"}).value_or(folder); }

std::optional<fs::path> image_validation_folder(const DataConfig& config) {
  if (!config.validation_path.empty()) return config.validation_path;
  const fs::path root = config.path;
  if (image_training_folder(root) == root) return std::nullopt;
  const auto own = first_folder({root / "validation", root / "val", root / "valid"});
  if (own || !config.test_path.empty()) return own;
  return first_folder({root / kImageTestFolder});
}

ImageList chosen_images(const ImageList& list, const std::vector<std::int64_t>& chosen) {
  ImageList out{.files = {}, .targets = chosen_targets(list.targets, chosen)};
  for (const auto i : chosen) {
    out.files.push_back(list.files[static_cast<std::size_t>(i)]);
    if (!list.contents.empty()) out.contents.push_back(list.contents[static_cast<std::size_t>(i)]);
  }
  return out;
}

ImageParts list_image_parts(const DataConfig& config, const ReadOptions& options, BadSamples& bad, TestPart test) {
  return config.labels.empty() ? list_folders(config, test) : LabelledImages(config, options, bad).list(test);
}

ImageList list_image_test(const DataConfig& config, const ReadOptions& options, BadSamples& bad) {
  return config.labels.empty() ? list_test_folder(config.test_path)
                               : LabelledImages(config, options, bad).list_alone(config.test_path);
}

}  // namespace esper::data
