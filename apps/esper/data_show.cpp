// `esper data show`: what a data set holds, as a run would read it.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/names.h"
#include "base/text/printable.h"
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

namespace fs = std::filesystem;
using config::DataKind;

struct ShowDataOptions {
  std::string path, kind;
  std::vector<std::string> assignments;
  ShowDataRequest request;
};

std::optional<DataKind> kind_of_file(const std::string& name) {
  static constexpr std::array kEndings{
      std::pair{".csv", DataKind::kTable},      std::pair{".csv.gz", DataKind::kTable},
      std::pair{".npz", DataKind::kNpy},        std::pair{".parquet", DataKind::kParquet},
      std::pair{".tar", DataKind::kWebdataset}, std::pair{".bin", DataKind::kTokens},
      std::pair{".txt", DataKind::kText},       std::pair{"-ubyte", DataKind::kMnist},
      std::pair{"-ubyte.gz", DataKind::kMnist}};
  for (const auto& [ending, kind] : kEndings) {
    if (name.ends_with(ending)) return kind;
  }
  return std::nullopt;
}

// By what lies in it.
std::optional<DataKind> kind_of_folder(const fs::path& folder) {
  std::error_code error;
  bool has_folders = false;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const auto name = it->path().filename().string();
    if (name == "state.json" || name == "dataset_dict.json") return DataKind::kDatasets;
    if (name.starts_with("data_batch_")) return DataKind::kCifar10;
    if (name.starts_with("train-images")) return DataKind::kMnist;
    if (name.ends_with(".npy")) return DataKind::kNpy;
    if (name.ends_with(".parquet")) return DataKind::kParquet;
    if (name.ends_with(".tar")) return DataKind::kWebdataset;
    std::error_code ignored;
    has_folders |= it->is_directory(ignored);
  }
  return has_folders ? std::optional(DataKind::kImages) : std::nullopt;
}

std::string guessed_kind(const std::string& path) {
  std::error_code ignored;
  const auto kind = fs::is_directory(path, ignored) ? kind_of_folder(path) : kind_of_file(path);
  if (kind) return std::string(base::name_of(*kind));
  throw base::Error(base::ExitCode::kConfig,
                    fmt::format("{}: the kind of data cannot be inferred from the name; add --kind, one of: {}",
                                base::printable_line(path), base::all_names<DataKind>()));
}

// For a run file, which is UTF-8.
std::string path_text(const std::string& path) {
  try {
    return nlohmann::json(path).dump();
  } catch (const nlohmann::json::type_error&) {
    throw base::Error(
        base::ExitCode::kConfig,
        fmt::format("{}: its name is not UTF-8, which a run file needs; rename it", base::printable_line(path)));
  }
}

// The user's own assignments come last.
int show(ShowDataOptions options) {
  const auto kind = !options.kind.empty() || options.path.empty() ? options.kind : guessed_kind(options.path);
  std::vector<std::string> assignments;
  if (!kind.empty()) assignments.push_back("data.kind=" + kind);
  if (!options.path.empty()) assignments.push_back("data.path=" + path_text(options.path));
  assignments.insert(assignments.end(), options.assignments.begin(), options.assignments.end());
  auto loaded = config::read_run_config_text("{}", "data show", assignments);
  if (!loaded.problems.empty()) throw base::ConfigError(std::move(loaded.problems));
  options.request.config = std::move(loaded.config);
  return run_in_engine(options.request);
}

}  // namespace

void add_data_show(CLI::App& data, Front& front) {
  CLI::App* command =
      add_command(data, "show", "Print shapes, classes, their balance and the first samples of a data set",
                  "esper data show data/examples/table/houses.csv --set data.columns.categorical=[city] "
                  "--set data.columns.missing=mean\n"
                  "         esper data show --kind process --set 'data.command=[python3, samples.py]'");
  const auto options = std::make_shared<ShowDataOptions>();
  command->add_option("path", options->path, "File or folder; default: the bundled data, or what --set names")
      ->type_name("PATH");
  command
      ->add_option("--kind", options->kind,
                   "Kind of data (data.kind): " + base::all_names<DataKind>() + "; default: inferred from the name")
      ->type_name("KIND");
  add_set_option(*command, options->assignments);
  add_json_flag(*command, options->request.json);
  command->callback([&front, options] { front.run = [options] { return show(*options); }; });
}

}  // namespace esper
