#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"
#include "history/bundle_config.h"

namespace esper {
namespace {

int repro(ReproRequest request) {
  config::LoadedConfig loaded = history::read_config_of_bundle(request.bundle);
  report_warnings(loaded);
  request.config = std::move(loaded.config);
  return run_in_engine(request);
}

}  // namespace

void add_repro(Front& front) {
  CLI::App* command =
      add_command(front.root, "repro", "Run a bundle's step again and find where its numbers went wrong",
                  "esper repro runs/digits-20260301-120000/bundles/step-000000037\n"
                  "A run writes a bundle when a step's loss or gradient is not finite: the state before the step, and\n"
                  "its batch (docs/blackbox.md).\n"
                  "Exit code 0: the step goes wrong again; 1: it is finite now");
  const auto request = std::make_shared<ReproRequest>();
  command->add_option("bundle", request->bundle, "Folder of the bundle, in RUN/bundles")
      ->required()
      ->type_name("BUNDLE");
  add_json_flag(*command, request->json);
  command->callback([&front, request] { front.run = [request] { return repro(*request); }; });
}

}  // namespace esper
