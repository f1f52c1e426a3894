#include <nlohmann/json.hpp>

#include "esper/front.h"
#include "esper/run_options.h"
#include "history/ledger/slowness.h"
#include "jobs/machine/cores.h"

namespace esper {
namespace {

struct WhySlowOptions {
  std::string run;
  bool json = false;
};

int why_slow(const WhySlowOptions& options) {
  const config::RunConfig config = load_config_of_run(options.run);
  const history::RunLedger ledger = history::read_run_ledger(options.run);
  const history::Advice advice = history::advise(config, ledger, jobs::usable_cores());
  if (options.json) {
    print_json(history::slowness_json(options.run, ledger, advice));
  } else {
    print(history::slowness_text(options.run, ledger, advice));
  }
  return 0;
}

}  // namespace

void add_why_slow(Front& front) {
  CLI::App* command = add_command(front.root, "why-slow", "Print where a run's time went, and a setting to try",
                                  "esper why-slow runs/digits-20260301-120000");
  const auto options = std::make_shared<WhySlowOptions>();
  command->add_option("run", options->run, "Run folder of a finished, running or killed run")
      ->required()
      ->type_name("RUN");
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return why_slow(*options); }; });
}

}  // namespace esper
