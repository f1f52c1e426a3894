#pragma once
// The key of this user's codes: 32 random bytes in his state folder, made when they are first needed. Any thread, any
// number of processes.

#include <string>

#include "base/expected.h"
#include "crypto/mac.h"

namespace esper::program {

// cache.key in esper_folder("XDG_STATE_HOME", "/.local/state"): a regular file of this user, mode 0600, in a folder
// that no other user can write to. A problem, for the user: it cannot be made, or is not such a file.
base::Expected<crypto::MacKey> user_key();

}  // namespace esper::program
