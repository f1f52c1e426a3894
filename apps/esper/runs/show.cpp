// `esper runs show`
#include <nlohmann/json.hpp>

#include "esper/run_options.h"
#include "esper/runs/run_text.h"
#include "esper/runs/runs.h"
#include "runs/read_run_record.h"

namespace esper {
namespace {

struct RunsShowOptions {
  std::string run;
  bool json = false;
};

int show_run(const RunsShowOptions& options) {
  const auto record = runs::read_run_record(run_folder_named(options.run));
  options.json ? print_json(record_json(record)) : print(run_page(record));
  return 0;
}

}  // namespace

void add_runs_show(CLI::App& runs, Front& front) {
  CLI::App* command =
      add_command(runs, "show", "Print everything known about one run", "esper runs show runs/digits-20260301-120000");
  const auto options = std::make_shared<RunsShowOptions>();
  command->add_option("run", options->run, "Run folder, or its name in the default folder")
      ->required()
      ->type_name("RUN");
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return show_run(*options); }; });
}

}  // namespace esper
