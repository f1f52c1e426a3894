#include "engine/bench/output_folder.h"

#include <fmt/core.h>

#include "base/error.h"
#include "storage/atomic_publish.h"
#include "storage/file_tools.h"

namespace esper::engine::bench {

void open_output_folder(base::FileSystem& files, const std::string& folder, const std::string& flag) {
  try {
    storage::ensure_folder(files, folder);
    const std::string probe = storage::free_name(files, folder + "/esper-write-test");
    storage::publish_file(files, probe, storage::bytes_of("can be written\n"));
    storage::remove_published(files, probe);
  } catch (const base::IoError& error) {
    throw base::Error(error.code(), fmt::format("{} {}: {}; nothing was measured; choose a writable folder", flag,
                                                folder, error.what()));
  }
}

}  // namespace esper::engine::bench
