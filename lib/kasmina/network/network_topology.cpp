#include "kasmina/network/network_topology.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/text/json_fields.h"
#include "kasmina/network/network_frozen.h"
#include "kasmina/network/network_tensors.h"
#include "kasmina/slot/slot_json.h"

namespace esper::kasmina {

using nlohmann::json;

namespace {

constexpr int kFormat = 1;

}  // namespace

json save_topology(const NetworkState& network) {
  json slots = json::array();
  for (const auto& slot : network.structure.slots) slots.push_back(slot_to_json(slot));
  return {{"format", kFormat},
          {"slots", std::move(slots)},
          {"seeds_born", network.structure.seeds_born},
          {"epoch", network.epoch},
          {"accuracy", optional_number(network.accuracy)},
          {"command_ids", network.structure.command_ids}};
}

void restore_topology(NetworkState& network, const json& saved) {
  auto& structure = network.structure;
  std::vector<Slot> slots;
  std::set<std::uint32_t> numbers;
  try {
    if (saved.at("format") != kFormat) fail_saved_topology("format", "written by another version");
    if (saved.at("slots").size() != structure.slots.size()) fail_saved_topology("slots", "the number of slots differs");
    for (std::size_t i = 0; i < structure.slots.size(); ++i) {
      const auto& present = structure.slots[i];
      slots.push_back(slot_from_json(saved.at("slots")[i],
                                     {present.site, present.seed, network.growth, network.run_seed, network.device}));
    }
    const auto born = base::whole_at<std::uint32_t>(saved, "seeds_born");
    for (const auto& slot : slots) {
      if (!slot.seed) continue;
      if (slot.seed->number > born) fail_saved_topology(slot.site.id, "its seed number is larger than the last one");
      if (!numbers.insert(slot.seed->number).second)
        fail_saved_topology(slot.site.id, "its seed occupies another slot too");
    }
    const auto epoch = base::whole_at<std::uint32_t>(saved, "epoch");
    const auto accuracy = base::optional_of<double>(saved.at("accuracy"));
    auto command_ids = saved.at("command_ids").get<std::deque<std::string>>();
    structure.seeds_born = born;
    network.epoch = epoch;
    network.accuracy = accuracy;
    structure.command_ids = std::move(command_ids);
  } catch (const json::exception& error) {
    fail_saved_topology("its JSON", base::plain_reason(error));
  }
  structure.slots = std::move(slots);
  for (auto& slot : structure.slots) {
    if (slot.seed) refresh_scalars(slot, network.growth);
  }
  refresh_frozen(network);
  assign_owners(network);
  ++network.structure_version;
}

}  // namespace esper::kasmina
