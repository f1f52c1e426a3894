#include <fmt/core.h>

#include <filesystem>

#include "base/names.h"
#include "base/text/printable.h"
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"
#include "esper/version.h"

namespace esper {
namespace {

struct ExportOptions {
  ExportRequest request;
  std::string format;
};

ExportFormat format_of(const std::string& name) {
  if (const auto format = base::from_name<ExportFormat>(name)) return *format;
  throw base::Error(base::ExitCode::kConfig, fmt::format("--format {} is not known; formats: {}", base::in_quotes(name),
                                                         base::all_names<ExportFormat>()));
}

// "digits-20260301-120000-onnx", in the current folder.
std::string default_folder(const ExportOptions& options) {
  std::error_code ignored;
  auto run = std::filesystem::absolute(options.request.run_dir, ignored).lexically_normal();
  if (!run.has_filename()) run = run.parent_path();
  return fmt::format("{}-{}", run.filename().string(), options.format);
}

void check_out(const ExportRequest& request) {
  std::error_code ignored;
  const auto kind = std::filesystem::symlink_status(request.out, ignored).type();
  using Type = std::filesystem::file_type;
  if (kind == Type::not_found || kind == Type::directory) return;
  throw base::Error(base::ExitCode::kConfig,
                    fmt::format("--out {} is not a folder; name another one", base::in_quotes(request.out)));
}

int export_network(ExportOptions options) {
  ExportRequest& request = options.request;
  request.format = format_of(options.format);
  if (request.out.empty()) request.out = default_folder(options);
  request.config = load_config_of_run(request.run_dir);
  check_out(request);
  request.esper = build_name();
  return run_in_engine(request);
}

}  // namespace

void add_export(Front& front) {
  CLI::App* command = add_command(front.root, "export", "Export a run's trained network for other programs",
                                  "esper export runs/digits-20260301-120000 --format onnx --checkpoint best");
  const auto options = std::make_shared<ExportOptions>();
  ExportRequest& request = options->request;
  command->add_option("run", request.run_dir, "Run folder")->required()->type_name("RUN");
  command
      ->add_option("--format", options->format,
                   "pytorch (a Python file and its weights), pt2 (torch.export), aoti (compiled), onnx, or safetensors "
                   "(the weights alone)")
      ->required()
      ->type_name("FORMAT");
  command->add_option("--checkpoint", request.checkpoint, "Checkpoint name, or best; default: the newest")
      ->type_name("NAME")
      ->check(refuse_empty);
  command
      ->add_option("--out", request.out,
                   "Folder to write; default: the run's name and the format, like digits-20260301-120000-onnx, in the "
                   "current folder")
      ->type_name("FOLDER")
      ->check(refuse_empty);
  command->add_flag("--replace", request.replace, "Replace an existing export of that name");
  add_json_flag(*command, request.json);
  command->callback([&front, options] { front.run = [options] { return export_network(*options); }; });
}

}  // namespace esper
