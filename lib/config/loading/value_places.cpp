#include "config/loading/value_places.h"

namespace esper::config {

using base::Place;

void ValuePlaces::record(const std::string& path, const YamlNode& value) {
  origins_[path] = value.place;
  std::vector<Place>& places = items_[path];
  places.clear();
  for (const YamlNode& item : value.items) places.push_back(item.place);
}

// Of "growth.slots[1]"; null where the path names no item that was given.
const Place* ValuePlaces::item_place(const std::string& path) const {
  const std::size_t bracket = path.find('[');
  if (bracket == std::string::npos) return nullptr;
  const auto found = items_.find(path.substr(0, bracket));
  const std::size_t index = std::stoul(path.substr(bracket + 1));
  return found == items_.end() || index >= found->second.size() ? nullptr : &found->second[index];
}

Place ValuePlaces::of(const Finding& finding) const {
  if (const Place* item = item_place(finding.path)) return *item;
  std::vector<std::string> paths{finding.path.substr(0, finding.path.find('['))};
  paths.insert(paths.end(), finding.also.begin(), finding.also.end());
  for (std::string section = paths.front(); section.find('.') != std::string::npos;) {
    section = section.substr(0, section.rfind('.'));
    paths.push_back(section);
  }
  for (const std::string& path : paths) {
    if (const auto found = origins_.find(path); found != origins_.end()) return found->second;
  }
  return {run_file_, 0, 0};
}

}  // namespace esper::config
