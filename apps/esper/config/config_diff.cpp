#include <nlohmann/json.hpp>

#include "config/fields/field_differences.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

using nlohmann::ordered_json;

struct ConfigDiffOptions {
  std::string first, second;
  bool json = false;
};

int diff_config(const ConfigDiffOptions& options) {
  const config::RunConfig first = config::load_run_config(options.first);
  const config::RunConfig second = config::load_run_config(options.second);
  ordered_json list = ordered_json::array();
  for (const auto& field : config::differing_fields({first, second})) {
    list.push_back({{"path", field.path}, {"first", field.json[0]}, {"second", field.json[1]}});
    if (!options.json) print_line(field.path + ": " + field.yaml[0] + " -> " + field.yaml[1]);
  }
  if (options.json) {
    print_json(ordered_json{{"first", options.first}, {"second", options.second}, {"fields", list}});
  } else if (list.empty()) {
    print("no field differs\n");
  }
  return list.empty() ? 0 : kDiffers;
}

}  // namespace

void add_config_diff(CLI::App& config, Front& front) {
  CLI::App* command = add_command(config, "diff", "Print the fields in which two run files differ",
                                  "esper config diff configs/run/digits.yaml configs/run/digits_static.yaml\n"
                                  "Exit code 0: no field differs; 1: a field differs");
  const auto options = std::make_shared<ConfigDiffOptions>();
  command->add_option("first", options->first, "Run file")->required()->type_name("FILE");
  command->add_option("second", options->second, "Run file to compare with it")->required()->type_name("FILE");
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return diff_config(*options); }; });
}

}  // namespace esper
