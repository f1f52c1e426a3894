#include "runs/run_stamp.h"

#include "base/hash.h"
#include "runs/run_folder_reader.h"

namespace esper::runs {

std::string run_stamp(const storage::FolderWalk& top, storage::FolderUse use) {
  std::uint64_t hash = base::mix64(use == storage::FolderUse::kHeld ? 1 : 0);
  const auto add = [&](std::uint64_t value) { hash = base::mix64(hash ^ value); };
  for (const auto& entry : top.entries) {
    if (entry.path.find('/') != std::string::npos) continue;
    add(base::fnv1a(entry.path));
    add(static_cast<std::uint64_t>(entry.kind));
    add(entry.bytes);
    add(static_cast<std::uint64_t>(entry.modified_ns));
    add(entry.inode);
  }
  return base::hash_text(hash);
}

std::string read_run_stamp(const std::string& folder) {
  const FolderReader opened(folder);
  const auto use = storage::folder_use(opened.descriptor(), folder);
  return run_stamp(storage::walk_folder(opened.descriptor(), {.depth = 1}), use);
}

}  // namespace esper::runs
