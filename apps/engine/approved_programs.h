#pragma once
// Which programs a run folder may have started as its policy: those that this user has run before by a run file of his
// own, or said to trust. A run folder may come from anywhere, and `policy.command` in it names a program.

#include "config/run_config.h"

namespace esper::engine {

// Before a policy of `config` is made. Does nothing where it asks no program of the user's.
// is_trusted: the user named the program, in his run file, or trusts the run folder that does. It is noted in his state
// folder, with the current folder, in which a relative path is another program; where that fails, a warning says so.
// Otherwise throws Error{kPolicy} for a program that was not noted.
void approve_program(const config::RunConfig& config, bool is_trusted);

}  // namespace esper::engine
