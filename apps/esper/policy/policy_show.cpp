// `esper policy show`: what a policy file says of itself, checked as a run would check it.
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {

void add_policy_show(CLI::App& policy, Front& front) {
  CLI::App* command =
      add_command(policy, "show", "Check a policy file, and print what it was trained on, how, and with which results",
                  "esper policy show configs/policy/digits.safetensors\n"
                  "Exit code 7: the file is damaged, or not a policy");
  const auto request = std::make_shared<ShowPolicyRequest>();
  command->add_option("file", request->file, "Policy file")->required()->type_name("FILE");
  add_json_flag(*command, request->json);
  command->callback([&front, request] { front.run = [request] { return run_in_engine(*request); }; });
}

}  // namespace esper
