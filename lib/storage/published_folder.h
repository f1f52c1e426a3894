#pragma once
// Reading back what publish_folder made: is it whole, and if not, out of the way with it. Any thread.

#include <string>

#include "leyline/file_system.h"
#include "storage/checked.h"
#include "storage/manifest.h"

namespace esper::storage {

// Reads every byte: the manifest, and size and hash of each file that it lists. Every damage is a problem, also a file
// that cannot be read; throws IoError only where the trouble is not the folder's (EMFILE, ENOMEM and the like).
Checked<Manifest> verify_folder(leyline::FileSystem& file_system, const std::string& folder);

// Renames the folder (or file) to `<path>.bad`, or the first of `<path>.bad-2`, ... that is not taken, durably. Returns
// the new path.
std::string quarantine(leyline::FileSystem& file_system, const std::string& path);

}  // namespace esper::storage
