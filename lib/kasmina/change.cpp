#include "kasmina/change.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"

namespace esper::kasmina {

Change::Change(Network& network)
    : network_(network), before_(network.structure_), structure_version_(network.structure_version_) {
  network.require_no_change();
  network.is_changing_ = true;
}

Change::~Change() {
  if (!is_open_) return;
  try {
    roll_back();
  } catch (const std::exception&) {
    network_.is_changing_ = false;
  }
}

std::vector<LifecycleEvent> Change::apply(const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                                          std::uint64_t now_ns) {
  ESPER_CHECK(is_open_, "a change that was committed or rolled back takes no further command");
  return network_.apply_order({command, probe, overwritten_}, now_ns);
}

void Change::commit() { close(); }

void Change::roll_back() {
  close();
  network_.structure_ = std::move(before_);
  if (network_.structure_version_ != structure_version_) ++network_.structure_version_;
  for (const auto& slot : network_.structure_.slots) {
    if (slot.seed) refresh_scalars(slot, network_.growth_);
  }
  std::ranges::reverse(overwritten_);
  write_values(overwritten_);
}

void Change::close() {
  ESPER_CHECK(is_open_, "a change ends once");
  is_open_ = false;
  network_.is_changing_ = false;
}

}  // namespace esper::kasmina
