// The network's structure saved and rebuilt.

#include <nlohmann/json.hpp>
#include <set>

#include "base/text/json_fields.h"
#include "kasmina/network.h"
#include "kasmina/slot_json.h"

namespace esper::kasmina {

using nlohmann::json;

namespace {

constexpr int kFormat = 1;

}  // namespace

json Network::save_topology() const {
  json slots = json::array();
  for (const auto& slot : structure_.slots) slots.push_back(slot_to_json(slot));
  return {{"format", kFormat},
          {"slots", std::move(slots)},
          {"seeds_born", structure_.seeds_born},
          {"epoch", epoch_},
          {"accuracy", optional_number(accuracy_)},
          {"command_ids", structure_.command_ids}};
}

void Network::restore_topology(const json& saved) {
  require_no_change();
  std::vector<Slot> slots;
  std::set<std::uint32_t> numbers;
  try {
    if (saved.at("format") != kFormat) fail_saved_topology("format", "written by another version");
    if (saved.at("slots").size() != structure_.slots.size())
      fail_saved_topology("slots", "the number of slots differs");
    for (std::size_t i = 0; i < structure_.slots.size(); ++i) {
      slots.push_back(slot_from_json(
          saved.at("slots")[i], {structure_.slots[i].site, structure_.slots[i].seed, growth_, run_seed_, device_}));
    }
    const auto born = saved.at("seeds_born").get<std::uint32_t>();
    for (const auto& slot : slots) {
      if (!slot.seed) continue;
      if (slot.seed->number > born) fail_saved_topology(slot.site.id, "its seed number is larger than the last one");
      if (!numbers.insert(slot.seed->number).second)
        fail_saved_topology(slot.site.id, "its seed occupies another slot too");
    }
    const auto epoch = saved.at("epoch").get<std::uint32_t>();
    const auto accuracy = base::optional_of<double>(saved.at("accuracy"));
    auto command_ids = saved.at("command_ids").get<std::deque<std::string>>();
    structure_.seeds_born = born;
    epoch_ = epoch;
    accuracy_ = accuracy;
    structure_.command_ids = std::move(command_ids);
  } catch (const json::exception& error) {
    fail_saved_topology("its JSON", error.what());
  }
  structure_.slots = std::move(slots);
  for (auto& slot : structure_.slots) {
    if (slot.seed) refresh_scalars(slot, growth_);
  }
  rebuild_ownership();
  ++structure_version_;
}

}  // namespace esper::kasmina
