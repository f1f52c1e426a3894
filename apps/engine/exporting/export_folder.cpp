#include "engine/exporting/export_folder.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/printable.h"
#include "storage/file_tools.h"
#include "storage/moved_away.h"
#include "storage/published_folder.h"
#include "storage/real_file_system.h"

namespace esper::engine {
namespace {

constexpr char kField[] = "esper_export";  // of the manifest: the format

bool is_there(base::FileSystem& files, const std::string& path) {
  return files.kind_of(path) != base::PathKind::kNothing;
}

void publish(base::FileSystem& system, const ExportRequest& request, const std::vector<storage::FolderFile>& files) {
  storage::publish_folder(system, request.out, files, {{kField, base::name_of(request.format)}});
}

}  // namespace

void require_export_place(const ExportRequest& request) {
  auto& files = storage::real_file_system();
  if (!is_there(files, request.out)) return;
  const auto name = base::in_quotes(request.out);
  if (!request.replace) {
    throw base::Error(
        base::ExitCode::kConfig,
        fmt::format("the folder {} exists already; name another one with --out, or replace it with --replace", name));
  }
  const auto manifest = storage::verify_folder(files, request.out);
  if (manifest && manifest->fields.contains(kField)) return;
  throw base::Error(
      base::ExitCode::kConfig,
      fmt::format("--replace: {} is not a folder that an export wrote, so it is kept; name another one with --out",
                  name));
}

void publish_export(const ExportRequest& request, const std::vector<storage::FolderFile>& files) {
  auto& system = storage::real_file_system();
  storage::ensure_folder(system, storage::parent_of(request.out));
  require_export_place(request);
  if (!is_there(system, request.out)) return publish(system, request, files);
  storage::MovedAway old(system, request.out);
  publish(system, request, files);
  old.set_replaced();
}

}  // namespace esper::engine
