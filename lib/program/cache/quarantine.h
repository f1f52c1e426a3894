#pragma once
// The folder of a cache where rejected entries go, with the reasons. Who changes it holds the cache's lock.
//
//   FOLDER/TIME-KEY           a rejected entry
//   FOLDER/TIME-KEY.damaged   the reason; or .failed, .failed_again, .wrong

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/file_system.h"

namespace esper::program {

enum class EntryFault {
  kDamaged,      // it differs from what was compiled: compiling again helps
  kFailed,       // as it was compiled, it does not load or does not run: compiling again may help
  kFailedAgain,  // it was compiled again after that, and failed: another one would end alike, while the cause lasts
  kWrong,        // its results differ from the program's: compiling again would not help
};

struct Quarantine {
  base::FileSystem& files;
  std::string folder;
  std::uint64_t limit_bytes;  // of all that is in it: the oldest goes first
};

// Moves the file `entry`, where it is there, and keeps the reason in any case. Throws base::IoError.
void move_to_quarantine(const Quarantine& quarantine, const std::string& entry, base::Duration wall, EntryFault fault,
                        const std::string& reason);

// The same for an entry of that key that is away already.
void keep_reason(const Quarantine& quarantine, const std::string& key, base::Duration wall, EntryFault fault,
                 const std::string& reason);

// The newest one of that key, if it was given at `since` (wall time) or later. Nothing also where it cannot be read.
std::optional<std::string> reason_in_quarantine(const Quarantine& quarantine, const std::string& key, EntryFault fault,
                                                base::Duration since = {});

}  // namespace esper::program
