#include "history/receipt/receipt.h"

#include <nlohmann/json.hpp>

#include "esper/front.h"
#include "esper/run_options.h"
#include "simic/seed_reward.h"

namespace esper {
namespace {

struct ReceiptOptions {
  std::string run, seed;
  bool json = false;
};

int receipt(const ReceiptOptions& options) {
  history::Receipt read = history::read_receipt(options.run, options.seed);
  read.reward = simic::reward_of(read);
  if (options.json) {
    print_json(history::receipt_json(options.run, read));
  } else {
    print(history::receipt_text(read));
  }
  return 0;
}

}  // namespace

void add_receipt(Front& front) {
  CLI::App* command =
      add_command(front.root, "receipt", "Print a seed's cost and contribution, and why it was kept or removed",
                  "esper receipt runs/digits-20260301-120000 seed-0001");
  const auto options = std::make_shared<ReceiptOptions>();
  command->add_option("run", options->run, "Run folder of a finished, running or killed run")
      ->required()
      ->type_name("RUN");
  command->add_option("seed", options->seed, "Seed, like seed-0001; esper topo log names them")
      ->required()
      ->type_name("SEED");
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return receipt(*options); }; });
}

}  // namespace esper
