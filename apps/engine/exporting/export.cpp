// `esper export`: a checkpoint's network, written for other programs to load.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/text/standard_output.h"
#include "engine/commands.h"
#include "engine/exporting/export_folder.h"
#include "engine/exporting/export_network.h"
#include "engine/exporting/export_program.h"
#include "engine/scratch.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::engine {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kMostExportedBytes = 1ull << 40;
constexpr char kWeights[] = "weights.safetensors";

storage::FolderFile text_file(const std::string& name, const std::string& text) {
  return {name, [text](const storage::ByteSink& sink) { sink(storage::bytes_of(text)); }};
}

storage::FolderFile file_of(base::FileSystem& files, const std::string& folder, const std::string& name) {
  return {name, [&files, path = folder + "/" + name](const storage::ByteSink& sink) {
            sink(storage::read_file(files, path, kMostExportedBytes));
          }};
}

Checked check(const ExportRequest& request, const ExportNetwork& network, const std::string& python,
              const std::string& folder) {
  const std::string text = network.write_parts(folder);
  if (request.format != ExportFormat::kSafetensors) return write_and_check(request, python, folder, text);
  network.require_weights(folder);
  return {};
}

// The names of what the format itself consists of.
std::vector<std::string> parts_of(ExportFormat format, const Checked& checked) {
  if (format == ExportFormat::kSafetensors) return {kWeights};
  if (format == ExportFormat::kPytorch) return {"model.py", kWeights};
  return {checked.file};
}

porting::ModelCard complete_card(const ExportNetwork& network, const Checked& checked) {
  auto card = network.card();
  card.difference = checked.difference;
  card.checked_by = checked.checked_by;
  return card;
}

// folder: that holds the parts. The file systems are borrowed until the files are written.
std::vector<storage::FolderFile> all_files(base::FileSystem& run, const ExportRequest& request,
                                           const std::string& folder, const std::vector<std::string>& parts) {
  std::vector<storage::FolderFile> files;
  for (const auto& part : parts) files.push_back(file_of(storage::real_file_system(), folder, part));
  files.push_back(file_of(run, request.run_dir, kRunConfigFile));
  return files;
}

void report(const ExportRequest& request, const ExportNetwork& network, const porting::ModelCard& card,
            const std::vector<storage::FolderFile>& files) {
  ordered_json json = {{"run_dir", request.run_dir},     {"checkpoint", network.checkpoint()},
                       {"format", card.format},          {"folder", request.out},
                       {"files", ordered_json::array()}, {"parameters", card.parameters},
                       {"difference", nullptr},          {"checked_by", card.checked_by}};
  for (const auto& file : files) json["files"].push_back(file.name);
  if (card.difference) json["difference"] = *card.difference;
  if (request.json) return base::write_json(json);
  base::write_line(fmt::format("{}: {} of {}", request.out, card.format, network.checkpoint()));
  for (const auto& file : files) base::write_line("  " + file.name);
  if (!card.difference) return;
  base::write_line(fmt::format("its outputs differ from Esper's by at most {:.2g} of the largest ({})",
                               *card.difference, card.checked_by));
}

}  // namespace

int run(const ExportRequest& request) {
  require_export_place(request);
  const std::string python = request.format == ExportFormat::kSafetensors ? "" : require_python(request);
  const ExportNetwork network(request);
  const Scratch scratch;
  const Checked checked = check(request, network, python, scratch.folder());
  const auto card = complete_card(network, checked);
  storage::ConfinedFileSystem run_files(request.run_dir, storage::Owner::kAnyone);
  auto files = all_files(run_files, request, scratch.folder(), parts_of(request.format, checked));
  files.push_back(text_file("preprocessing.json", network.preprocessing_json()));
  files.push_back(text_file("MODEL.md", porting::model_card(card, network.preprocessing())));
  publish_export(request, files);
  report(request, network, card, files);
  return 0;
}

}  // namespace esper::engine
