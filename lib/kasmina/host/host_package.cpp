#include "kasmina/host/host_package.h"

#include <vector>

#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::kasmina {

void publish_host_package(const std::string& from, base::FileSystem& files, const std::string& to) {
  constexpr std::uint64_t kMostBytes = 1ull << 40;
  std::vector<storage::FolderFile> contents;
  for (const char* name : {"host.json", "train.json", "evaluate.json", "weights.safetensors"}) {
    contents.push_back({name, [path = from + "/" + name](const storage::ByteSink& sink) {
                          sink(storage::read_file(storage::real_file_system(), path, kMostBytes));
                        }});
  }
  storage::publish_folder(files, to, contents, {{"kind", "host"}});
}

void keep_host_package(const config::HostConfig& host, base::FileSystem& files, const std::string& to) {
  if (host.kind == config::HostKind::kExported) publish_host_package(host.path, files, to);
}

}  // namespace esper::kasmina
