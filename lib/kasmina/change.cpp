#include "kasmina/change.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"

namespace esper::kasmina {

Change::Change(Network& network)
    : network_(network),
      slots_(network.slots_),
      ownership_(network.ownership_),
      seeds_born_(network.seeds_born_),
      command_ids_(network.command_ids_),
      structure_version_(network.structure_version_) {
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
  network_.slots_ = std::move(slots_);
  network_.ownership_ = std::move(ownership_);
  network_.seeds_born_ = seeds_born_;
  network_.command_ids_ = std::move(command_ids_);
  if (network_.structure_version_ != structure_version_) ++network_.structure_version_;
  for (auto& slot : network_.slots_) {
    if (slot.seed) network_.refresh_scalars(slot);
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
