#include "history/receipt/receipt.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/aligned.h"
#include "base/text/printable.h"
#include "esper/front.h"
#include "esper/run_options.h"
#include "history/receipt/seed_list.h"
#include "simic/seed_reward.h"

namespace esper {
namespace {

using history::ListedSeed;
using history::SeedList;
using nlohmann::ordered_json;

struct ReceiptOptions {
  std::string run, seed;
  bool json = false;
};

ordered_json run_place_json(const history::RunPlace& place) { return {{"epoch", place.epoch}, {"step", place.step}}; }

ordered_json seed_list_json(const std::string& run, const SeedList& list) {
  ordered_json seeds = ordered_json::array();
  for (const ListedSeed& seed : list.seeds) {
    seeds.push_back({{"seed", seed.seed_id},
                     {"slot", seed.slot},
                     {"blueprint", seed.blueprint},
                     {"outcome", history::label_of(seed.outcome)},
                     {"stage", base::name_of(seed.stage)},
                     {"from", run_place_json(seed.from)},
                     {"ended", seed.ended ? run_place_json(*seed.ended) : ordered_json()},
                     {"epochs", seed.epochs}});
  }
  return {{"run_dir", run}, {"seeds", std::move(seeds)}, {"gaps", list.gaps}};
}

std::string seed_table(const std::vector<ListedSeed>& seeds) {
  std::vector<std::vector<std::string>> lines{
      {"seed", "slot", "blueprint", "outcome", "last stage", "from epoch", "epochs"}};
  for (const ListedSeed& seed : seeds) {
    lines.push_back({base::printable_line(seed.seed_id), base::printable_line(seed.slot),
                     base::printable_line(seed.blueprint), history::label_of(seed.outcome),
                     std::string(base::name_of(seed.stage)), std::to_string(seed.from.epoch),
                     std::to_string(seed.epochs)});
  }
  return base::aligned(lines);
}

void print_seeds(const std::string& run, const SeedList& list) {
  if (list.seeds.empty()) {
    print("nothing grew in this run\n");
  } else {
    print(seed_table(list.seeds));
    print_line(fmt::format("name one of them for its receipt: esper receipt {} {}", run, list.seeds.front().seed_id));
  }
  for (const auto& gap : list.gaps) print_line("note: " + gap);
}

int list_seeds(const ReceiptOptions& options) {
  const SeedList list = history::read_seed_list(options.run);
  if (options.json) {
    print_json(seed_list_json(options.run, list));
  } else {
    print_seeds(options.run, list);
  }
  return 0;
}

int receipt(const ReceiptOptions& options) {
  if (options.seed.empty()) return list_seeds(options);
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
                  "esper receipt runs/digits-20260301-120000\n"
                  "         esper receipt runs/digits-20260301-120000 seed-0001");
  const auto options = std::make_shared<ReceiptOptions>();
  command->add_option("run", options->run, "Run folder of a finished, running or killed run")
      ->required()
      ->type_name("RUN");
  command->add_option("seed", options->seed, "Seed, like seed-0001; default: list the seeds of the run")
      ->type_name("SEED")
      ->check(refuse_empty);
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return receipt(*options); }; });
}

}  // namespace esper
