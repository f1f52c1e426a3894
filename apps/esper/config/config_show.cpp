#include <nlohmann/json.hpp>

#include "config/writing/write.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

int show(const ConfigOptions& options) {
  const config::RunConfig config = load_or_throw(options).config;
  if (options.json) {
    print_json(config::resolved_json(config));
  } else {
    print(config::resolved_yaml(config));
  }
  return 0;
}

}  // namespace

void add_config_show(CLI::App& config, Front& front) {
  CLI::App* command = add_command(config, "show", "Print the resolved run file, defaults included",
                                  "esper config show configs/run/digits.yaml > resolved.yaml");
  const auto options = std::make_shared<ConfigOptions>();
  add_config_options(*command, *options);
  command->callback([&front, options] { front.run = [options] { return show(*options); }; });
}

}  // namespace esper
