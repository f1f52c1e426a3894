#include "kasmina/change.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "kasmina/command/execute.h"

namespace esper::kasmina {

Change::Change(NetworkState& network, bool& is_open)
    : network_(network),
      is_network_changing_(is_open),
      before_(network.structure),
      structure_version_(network.structure_version) {
  is_network_changing_ = true;
}

Change::~Change() {
  if (!is_open_) return;
  try {
    roll_back();
  } catch (const std::exception&) {
    is_network_changing_ = false;
  }
}

std::vector<LifecycleEvent> Change::apply(const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                                          std::uint64_t now_ns) {
  ESPER_CHECK(is_open_, "a change that was committed or rolled back takes no further command");
  return execute(network_, {command, probe, overwritten_}, now_ns);
}

void Change::commit() { close(); }

void Change::roll_back() {
  close();
  network_.structure = std::move(before_);
  if (network_.structure_version != structure_version_) ++network_.structure_version;
  for (const auto& slot : network_.structure.slots) {
    if (slot.seed) refresh_scalars(slot, network_.growth);
  }
  std::ranges::reverse(overwritten_);
  write_values(overwritten_);
}

void Change::close() {
  ESPER_CHECK(is_open_, "a change ends once");
  is_open_ = false;
  is_network_changing_ = false;
}

}  // namespace esper::kasmina
