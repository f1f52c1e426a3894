#include "engine/exporting/export_folder.h"

#include <fmt/core.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/printable.h"
#include "storage/file_tools.h"
#include "storage/published_folder.h"
#include "storage/real_file_system.h"

namespace esper::engine {
namespace {

constexpr char kField[] = "esper_export";  // of the manifest: the format

bool is_there(base::FileSystem& files, const std::string& path) {
  return files.kind_of(path) != base::PathKind::kNothing;
}

// What is at a path, out of the way while it lives; back again unless it is no longer needed.
class MovedAway {
 public:
  MovedAway(base::FileSystem& files, std::string path)
      : files_(files),
        path_(std::move(path)),
        aside_(storage::free_name(files, fmt::format("{}.old-{}", path_, getpid()))) {
    files_.rename(path_, aside_);
  }
  ~MovedAway() {
    try {
      is_replaced_ ? storage::remove_all(files_, aside_) : files_.rename(aside_, path_);
    } catch (const base::IoError&) {
      // It is still there, under the other name.
    }
  }
  MovedAway(const MovedAway&) = delete;
  MovedAway& operator=(const MovedAway&) = delete;
  void set_replaced() { is_replaced_ = true; }

 private:
  base::FileSystem& files_;
  std::string path_, aside_;
  bool is_replaced_ = false;
};

void publish(base::FileSystem& system, const ExportRequest& request, const std::vector<storage::FolderFile>& files) {
  storage::publish_folder(system, request.out, files, {{kField, base::name_of(request.format)}});
}

}  // namespace

void require_replaceable(const ExportRequest& request) {
  auto& files = storage::real_file_system();
  if (!is_there(files, request.out)) return;
  const auto manifest = storage::verify_folder(files, request.out);
  if (manifest && manifest->fields.contains(kField)) return;
  throw base::Error(base::ExitCode::kConfig,
                    fmt::format("--replace: {} is no folder that an export wrote, so it stays; name another one with "
                                "--out",
                                base::in_quotes(request.out)));
}

void publish_export(const ExportRequest& request, const std::vector<storage::FolderFile>& files) {
  auto& system = storage::real_file_system();
  storage::ensure_folder(system, storage::parent_of(request.out));
  if (!is_there(system, request.out)) return publish(system, request, files);
  MovedAway old(system, request.out);
  publish(system, request, files);
  old.set_replaced();
}

}  // namespace esper::engine
