#pragma once
// Where compiled programs are kept between runs. The folder holds code that this process will run, so nobody but its
// user may write there, and no file that may come from elsewhere names it. Any thread.

#include <string>

#include "base/expected.h"
#include "base/file_system.h"

namespace esper::program {

// Makes the folder `wanted`, and those above it, where they are missing: mode 0700, whatever the umask. One that is
// there is left as it is. Gives its name without links, or a problem: it cannot be made; a user other than root can
// write to it, or exchange it, because it or a folder above it belongs to another user or can be written to by others
// (a sticky folder above, and the user's own group there, are no problem).
base::Expected<std::string> private_folder(const std::string& wanted);

// The folder "esper" in the one that `variable` names, where that is an absolute path (others are invalid: XDG Base
// Directory Specification), else in $HOME + `in_home`; empty: there is no HOME. Makes nothing.
std::string esper_folder(const char* variable, const std::string& in_home);

// `named` (on the command line) if it is not empty, else $ESPER_CACHE, else $XDG_CACHE_HOME/esper, else
// $HOME/.cache/esper; "/programs" is added to all but the first. As private_folder, with the remedy in the problem;
// a relative ESPER_CACHE is one.
base::Expected<std::string> private_cache_folder(const std::string& named);

// A folder below the cache's cannot be used, reason with the remedy: it is not a folder, or not this user's alone.
// Else all can, or are not there yet. `files` is confined to the cache. Changes nothing.
base::Expected<void> check_below(base::FileSystem& files, const std::string& cache);

}  // namespace esper::program
