#include "data/readers/table_reader.h"

#include <fmt/core.h>

#include "data/files/byte_file.h"
#include "data/files/memory_need.h"
#include "data/readers/python_table.h"
#include "data/table/table_columns.h"
#include "data/table/table_rows.h"
#include "data/table/table_split.h"

namespace esper::data {
namespace fs = std::filesystem;
namespace {

using config::DataConfig;

std::string_view text_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The inputs and targets of some rows.
class TablePart {
 public:
  TablePart(const TableEncoding& encoding, const fs::path& file, const ReadOptions& options)
      : encoding_(encoding), file_(file), options_(options) {}

  RawSamples of(const TableRows& rows, const std::vector<std::int64_t>& chosen) const {
    const auto width = encoded_width(encoding_);
    const auto bytes = checked_product({static_cast<std::int64_t>(chosen.size()), width, sizeof(float)});
    if (!bytes) fail_input(file_, "", "its rows need more bytes than fit into 64 bits");
    require_memory(file_, fmt::format("its rows of {} inputs", width), *bytes, options_);
    auto part = chosen_targets(rows.targets, chosen);
    part.sizes = {width};
    part.values = encode_rows(encoding_, rows, chosen);
    return part;
  }

 private:
  const TableEncoding& encoding_;
  const fs::path& file_;
  const ReadOptions& options_;
};

Bytes text_bytes(config::DataKind kind, const fs::path& file, const ReadOptions& options) {
  return kind == config::DataKind::kTable ? read_bytes(file, options) : read_python_table(kind, file, options);
}

// Of a saved data set of several parts, too.
constexpr char kSavedTrainFolder[] = "train", kSavedValidationFolder[] = "validation";

// Hugging Face saves several parts as folders of one.
fs::path folder_of_part(config::DataKind kind, const fs::path& path, const char* part) {
  std::error_code ignored;
  const bool has_parts = kind == config::DataKind::kDatasets && fs::exists(path / "dataset_dict.json", ignored);
  return has_parts ? path / part : path;
}

}  // namespace

RawParts read_table(const DataConfig& config, const ReadOptions& options, BadSamples& bad, TestPart test) {
  const auto file = training_table(config);
  const auto bytes = text_bytes(config.kind, file, options);
  const TableText table{file, text_of(bytes)};
  RawParts parts;
  parts.table = chosen_columns(table_header(table), config.columns, options.task, file);
  const auto rows = read_rows(table, parts.table, TargetColumns::kRead, options, bad);
  const auto validation = validation_table(config);
  const bool own = !validation.empty();
  const auto split =
      split_rows(rows, {own ? 0 : config.validation_fraction, config.test_fraction}, config.split_seed, file, bad);
  learn_encoding(parts.table, rows, split.train, file);
  const TablePart part(parts.table, file, options);
  parts.train = part.of(rows, split.train);
  parts.validation =
      own ? read_known_table(config.kind, validation, parts.table, options, bad) : part.of(rows, split.validation);
  if (test == TestPart::kUnread) return parts;
  if (!config.test_path.empty()) {
    parts.test = read_known_table(config.kind, test_table(config), parts.table, options, bad);
  } else if (config.test_fraction > 0) {
    parts.test = part.of(rows, split.test);
  }
  return parts;
}

fs::path training_table(const DataConfig& config) {
  return folder_of_part(config.kind, config.path, kSavedTrainFolder);
}

fs::path validation_table(const DataConfig& config) {
  if (!config.validation_path.empty()) {
    return folder_of_part(config.kind, config.validation_path, kSavedValidationFolder);
  }
  const fs::path path = config.path, own = folder_of_part(config.kind, path, kSavedValidationFolder);
  std::error_code ignored;
  return own != path && fs::is_directory(own, ignored) ? own : fs::path();
}

fs::path test_table(const DataConfig& config) {
  return folder_of_part(config.kind, config.test_path, kSavedTestFolder);
}

RawSamples read_known_table(config::DataKind kind, const fs::path& file, const TableEncoding& encoding,
                            const ReadOptions& options, BadSamples& bad) {
  const auto bytes = text_bytes(kind, file, options);
  const auto rows = read_rows({file, text_of(bytes)}, encoding, TargetColumns::kRead, options, bad);
  return TablePart(encoding, file, options).of(rows, all_rows(rows));
}

EncodedTable encode_table(const fs::path& file, const TableEncoding& encoding, const ReadOptions& options,
                          BadSamples& bad) {
  const auto bytes = read_bytes(file, options);
  auto rows = read_rows({file, text_of(bytes)}, encoding, TargetColumns::kIgnored, options, bad);
  auto values = TablePart(encoding, file, options).of(rows, all_rows(rows)).values;
  return {std::get<std::vector<float>>(std::move(values)), std::move(rows.lines)};
}

}  // namespace esper::data
