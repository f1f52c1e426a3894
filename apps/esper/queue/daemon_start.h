#pragma once
// Starting a daemon for a command that needs one. On the thread that reads the command line.

#include <functional>
#include <string>

#include "base/expected.h"
#include "http/client.h"

namespace esper {

// No socket, or one that a daemon left which has ended. A daemon that is slow, or full, listens.
bool nobody_listens(const std::string& state_dir);

using Answer = base::Expected<http::Response, http::RequestFailure>;
using Ask = std::function<Answer()>;
// The answer of the daemon that listens, where none does of one that is started for it, or of the one that another
// command started at the same moment. `ask` is called again where it found no daemon or one that was about to end, so
// what it asks must be the same however often it is asked (new_submission_token()). Throws Error with what the daemon
// wrote before it ended, and its exit status, where none came to listen.
Answer answer_or_start(const std::string& state_dir, const Ask& ask);

}  // namespace esper
