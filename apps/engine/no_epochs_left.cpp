#include "engine/no_epochs_left.h"

#include <fmt/core.h>

#include "config/writing/free_fields.h"

namespace esper::engine {

std::string no_epochs_left(std::uint32_t epoch, const config::RunConfig& config, const std::string& remedy) {
  const std::string text = fmt::format("no epochs left to train: the run is at epoch {} of {}; ", epoch, config.epochs);
  if (!config::epochs_are_fixed(config)) return text + "add epochs: " + remedy;
  return text + "its schedule depends on the number of epochs, so none can be added: fork at an earlier step";
}

}  // namespace esper::engine
