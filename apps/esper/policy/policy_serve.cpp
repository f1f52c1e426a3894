// `esper policy serve`: what a run with policy.host process starts, so it is in no list of commands.
#include "esper/engine_loader.h"
#include "esper/front.h"

namespace esper {

void add_policy_serve(CLI::App& policy, Front& front) {
  CLI::App* command = add_command(policy, "serve", "Make the decisions of the run that started this process",
                                  "esper train --config configs/run/digits.yaml --set policy.host=process");
  command->group("");
  command->callback([&front] { front.run = [] { return run_in_engine(ServeRequest{}); }; });
}

}  // namespace esper
