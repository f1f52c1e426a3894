#pragma once
#include "esper/engine_api.h"

namespace esper {

// Loads ../lib/libesper_engine.so, as seen from this program's file, and runs the request in it. Throws Error{kBug}
// (the installation is broken) if there is no engine or it does not load.
int run_in_engine(const EngineRequest& request);

}  // namespace esper
