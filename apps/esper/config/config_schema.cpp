#include <nlohmann/json.hpp>

#include "config/writing/schema.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {

void add_config_schema(CLI::App& config, Front& front) {
  CLI::App* command = add_command(config, "schema", "Print the JSON schema of run files (draft 2020-12)",
                                  "esper config schema > configs/schema.json");
  struct Options {
    bool markdown = false, json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::Option* markdown =
      command->add_flag("--markdown", options->markdown, "Print the table of docs/config.md instead");
  command->add_flag("--json", options->json, "Print JSON (the default), and errors as JSON, too")->excludes(markdown);
  command->callback([&front, options] {
    front.run = [options] {
      if (options->markdown) {
        print(config::config_markdown());
      } else {
        print_json(config::config_json_schema());
      }
      return 0;
    };
  });
}

}  // namespace esper
