#include <nlohmann/json.hpp>

#include "esper/front.h"
#include "esper/run_options.h"
#include "leyline/config/write.h"

namespace esper {
namespace {

int check(const ConfigOptions& options) {
  const leyline::RunConfig config = load_or_throw(options).config;
  const std::string hash = leyline::hash_text(leyline::config_hash(config));
  if (options.json) {
    print_json(nlohmann::ordered_json{{"ok", true},
                                      {"file", options.file},
                                      {"config_hash", hash},
                                      {"training_hash", leyline::hash_text(leyline::training_hash(config))}});
  } else {
    print_ok(options.file + " (config " + hash + ")");
  }
  return 0;
}

}  // namespace

void add_config_check(CLI::App& config, Front& front) {
  CLI::App* command = add_command(config, "check", "Print OK, or everything that is wrong (exit 2)",
                                  "esper config check configs/run/digits.yaml --set epochs=5");
  const auto options = std::make_shared<ConfigOptions>();
  add_config_options(*command, *options);
  command->callback([&front, options] { front.run = [options] { return check(*options); }; });
}

}  // namespace esper
