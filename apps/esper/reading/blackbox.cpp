#include <nlohmann/json.hpp>

#include "esper/front.h"
#include "esper/run_options.h"
#include "history/black_box/black_box.h"

namespace esper {
namespace {

struct BlackboxOptions {
  std::string run;
  std::size_t last = 0;  // records; 0: all
  bool json = false;
};

int blackbox(const BlackboxOptions& options) {
  history::BlackBox box = history::read_black_box(options.run);
  history::keep_last(box, options.last);
  if (options.json) {
    print_json(history::black_box_json(options.run, box));
  } else {
    print(history::black_box_text(box));
  }
  return 0;
}

}  // namespace

void add_blackbox(Front& front) {
  CLI::App* command = add_command(front.root, "blackbox", "Print a run's last steps, even if it was killed",
                                  "esper blackbox runs/digits-20260301-120000 --last 20");
  const auto options = std::make_shared<BlackboxOptions>();
  command->add_option("run", options->run, "Run folder of a finished, running or killed run")
      ->required()
      ->type_name("RUN");
  command
      ->add_option("--last", options->last,
                   "Print only the newest N records (steps, ends of epochs, events); default: all")
      ->type_name("N")
      ->check(whole_number(1));
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return blackbox(*options); }; });
}

}  // namespace esper
