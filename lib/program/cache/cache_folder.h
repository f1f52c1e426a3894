#pragma once
// Where compiled programs are kept between runs. The folder holds code that this process will run, so nobody but its
// user may write there. Any thread.

#include <string>

#include "storage/checked.h"

namespace esper::program {

// `configured` if it is not empty, else $ESPER_CACHE, else $XDG_CACHE_HOME/esper, else $HOME/.cache/esper; "/programs"
// is added to all but the first. Makes the folder (mode 0700) and those above it; one that is there is left as it is. A
// problem, in words for the user: no such place; it cannot be made; somebody else but root may write to it, or exchange
// it, because it or a folder above it belongs to another user or can be written to by others (a sticky folder above,
// and the user's own group there, are no problem).
storage::Checked<std::string> private_cache_folder(const std::string& configured);

}  // namespace esper::program
