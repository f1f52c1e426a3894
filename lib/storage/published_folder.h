#pragma once
// Reading back what publish_folder made: is it whole, and if not, out of the way with it. Any thread.

#include <string>

#include "base/file_system.h"
#include "storage/manifest.h"
#include "storage/read_failure.h"

namespace esper::storage {

// Reads every byte: the manifest, and size and hash of each file that it lists. Damaged are a wrong checksum, hash or
// size; unreadable are a file that the system does not give (EIO, EACCES, no regular file), one that is missing, since
// the folder may be on its way here, and a manifest of another format. Throws IoError only where the failure is not the
// folder's (EMFILE, ENOMEM and the like).
base::Expected<Manifest, ReadFailure> verify_folder(base::FileSystem& file_system, const std::string& folder);

// Whether an error means that one file or folder cannot be read, rather than a limit of this process (EMFILE, ENOMEM).
bool is_of_the_file(const base::IoError& error);

// Renames the folder (or file) to `<path><ending>`, or the first of `<path><ending>-2`, ... that is not taken, durably.
// Returns the new path.
inline constexpr char kDamagedEnding[] = ".bad";
inline constexpr char kUnreadableEnding[] = ".unread";
std::string quarantine(base::FileSystem& file_system, const std::string& path,
                       const std::string& ending = kDamagedEnding);

}  // namespace esper::storage
