#pragma once
// The one way to write durable files: written under `<name>.tmp-<pid>`, synced, renamed, and the
// parent folder synced. What a reader finds under the final name is whole, at every instant and after a power loss.
// One thread at a time for one final name; its parent folder exists.
//
// All throw IoError and then leave the old state, with one exception that cannot be avoided: if only the last step (the
// sync of the parent) fails, the new state is there, whole, but may vanish with a power loss.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "storage/bytes.h"
#include "storage/manifest.h"

namespace esper::storage {

// Replaces what is at `path`.
void publish_file(base::FileSystem& file_system, const std::string& path, Bytes contents);
void publish_file(base::FileSystem& file_system, const std::string& path, const WriteContents& write_contents);

struct FolderFile {
  std::string name;  // plain, not manifest.json
  WriteContents write_contents;
};

// Makes the folder `path` with these files, and last its manifest.json with size and hash of each, and `fields`.
// EEXIST if there is something at `path`. Returns what the manifest says.
Manifest publish_folder(base::FileSystem& file_system, const std::string& path, const std::vector<FolderFile>& files,
                        const nlohmann::json& fields);

// Takes away what publish_file or publish_folder made, durably. It goes to a leftover's name first, so that no reader
// ever finds a part of it under its own. Nothing there is no error.
void remove_published(base::FileSystem& file_system, const std::string& path);

// Removes from `folder` every `*.tmp-<pid>` whose process no longer exists, and those of this process: call it before
// publishing anything there, while holding the folder's lock. (A restarted container often has its old process id.)
// Returns the names removed.
std::vector<std::string> remove_leftovers(base::FileSystem& file_system, const std::string& folder);

// The same for a folder in which only the holder of its lock publishes: whether a process of that id lives says nothing
// then (it may be another one, or run on another machine). Removes those for whose final name `is_ours` holds.
std::vector<std::string> remove_leftovers_under_lock(base::FileSystem& file_system, const std::string& folder,
                                                     const std::function<bool(std::string_view)>& is_ours);

}  // namespace esper::storage
