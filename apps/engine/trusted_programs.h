#pragma once
// Which programs may be started as a policy or for data: those that this user named in a run file of his own, or said
// to trust. A run folder may come from anywhere, and `policy.command` or `data.command` in it names a program. Main
// thread.

#include <string>
#include <vector>

namespace esper::engine {

// command: policy.command or data.command. The user named it himself, or trusts the run folder that does. Lasts: it is
// recorded in his state folder, with the current folder, in which a relative path is another program. Where that fails,
// a warning says so, and it is trusted by this process alone.
void trust_program(const std::vector<std::string>& command);

// Before it is started. Throws Error{kPolicy}, with the way out, for one that is not trusted in this folder.
void require_trusted(const std::vector<std::string>& command, const std::string& field = "policy.command");

}  // namespace esper::engine
