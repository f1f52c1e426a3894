#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

int evaluate(EvaluateRequest request, const std::vector<std::string>& assignments) {
  request.config = load_config_of_run(request.run_dir, assignments);
  return run_in_engine(request);
}

}  // namespace

void add_evaluate(Front& front) {
  CLI::App* command = add_command(front.root, "evaluate", "Measure a run's checkpoint on the validation data",
                                  "esper evaluate runs/digits-20260301-120000 --json");
  const auto request = std::make_shared<EvaluateRequest>();
  const auto assignments = std::make_shared<std::vector<std::string>>();
  command->add_option("run", request->run_dir, "Run folder")->required()->type_name("RUN");
  command->add_option("--checkpoint", request->checkpoint, "Checkpoint name, or best; default: the newest")
      ->type_name("NAME");
  add_set_option(*command, *assignments);
  add_json_flag(*command, request->json);
  command->callback([&front, request, assignments] {
    front.run = [request, assignments] { return evaluate(*request, *assignments); };
  });
}

}  // namespace esper
