#pragma once
// How the process ends where std::bad_alloc reaches code that must not throw, once memory_reserve.h has nothing left.

#include <string_view>

namespace esper::base {

// From now on std::terminate prints `text` on standard error and ends the process with ExitCode::kResources if the
// exception is std::bad_alloc; any other one ends it as before. Allocates nothing then. text: of static lifetime.
// Called once, by main().
void install_out_of_memory_exit(std::string_view text);

}  // namespace esper::base
