#pragma once
// Where compiled programs are kept between runs. The folder holds code that this process will run, so nobody but its
// user may write there. Any thread.

#include <string>

#include "storage/checked.h"

namespace esper::program {

// `configured` if it is not empty, else $ESPER_CACHE, else $XDG_CACHE_HOME/esper, else $HOME/.cache/esper; "/programs"
// is added to all but the first. Makes the folder (mode 0700) and those above it. A problem, in words for the user:
// no such place, it cannot be made, it belongs to somebody else, others may write to it.
storage::Checked<std::string> private_cache_folder(const std::string& configured);

}  // namespace esper::program
