// The rules between fields. What depends on the data itself (does the file exist, does the shape fit) is checked where
// the data is opened.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "leyline/config/run_config.h"
#include "leyline/config/slot_alpha.h"
#include "leyline/config/slot_classes.h"
#include "leyline/names.h"

namespace esper::leyline {
namespace {

bool digits_only(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_device(std::string_view kind) {
  if (kind == "auto" || kind == "cpu" || kind == "cuda") return true;
  constexpr std::string_view kIndexed = "cuda:";
  constexpr std::size_t kMostDigits = 3;
  if (!kind.starts_with(kIndexed)) return false;
  const std::string_view index = kind.substr(kIndexed.size());
  return digits_only(index) && index.size() <= kMostDigits;
}

bool is_name(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  constexpr std::size_t kMost = 100;
  return !text.empty() && text.size() <= kMost && text.find_first_not_of(kAllowed) == std::string_view::npos &&
         text[0] != '.' && text[0] != '-';
}

// What is empty was told of already.
void check_unique(const std::vector<std::string>& list, const std::string& path, Findings& out) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool is_new = list[i].empty() || seen.insert(list[i]).second;
    if (!is_new) out.push_back({path + "[" + std::to_string(i) + "]", "\"" + list[i] + "\" is listed twice", {}});
  }
}

// "r0c1=conv_heavy"; whether host and catalogue have them is checked where the network is built.
void check_modules(const std::vector<std::string>& modules, Findings& out) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::string path = "modules[" + std::to_string(i) + "]";
    const std::size_t equals = modules[i].find('=');
    const std::string slot = modules[i].substr(0, equals);
    if (equals == std::string::npos || equals + 1 == modules[i].size() || !is_slot_id(slot)) {
      out.push_back({path, "\"" + modules[i] + "\" must name a slot and a blueprint, like r0c0=conv_heavy", {}});
    } else if (!taken.insert(slot).second) {
      out.push_back({path, "slot " + slot + " holds another module of this list", {}});
    }
  }
}

// Whether samples have channels, height and width, as far as the config tells.
bool image_shaped(const DataConfig& data) {
  constexpr std::size_t kImageRank = 3;
  switch (data.kind) {
    case DataKind::kDigits:
    case DataKind::kMnist:
    case DataKind::kCifar10:
    case DataKind::kImages:
      return true;
    case DataKind::kNpy:
      return data.shape.empty() || data.shape.size() == kImageRank;
    case DataKind::kCsv:
    case DataKind::kSynthetic:
      return data.shape.size() == kImageRank;
    case DataKind::kText:
      break;
  }
  return false;
}

void check_path(const DataConfig& data, Findings& out) {
  const std::string kind(name_of(data.kind));
  if (data.kind == DataKind::kSynthetic) {
    if (!data.path.empty()) out.push_back({"path", "data of kind synthetic is made up; leave the path out", {"kind"}});
    if (!data.validation_path.empty()) {
      out.push_back({"validation_path", "data of kind synthetic is made up; leave the path out", {"kind"}});
    }
  } else if (data.kind != DataKind::kDigits && data.path.empty()) {
    out.push_back({"path", "data of kind " + kind + " needs a path", {"kind"}});
  }
}

void check_shape(const DataConfig& data, Findings& out) {
  if (data.shape.empty()) return;
  if (data.kind == DataKind::kText) {
    out.push_back({"shape", "text has no shape; data.context sets its length", {"kind"}});
  }
  if (data.kind != DataKind::kSynthetic) return;
  double product = 1;
  for (const std::int64_t size : data.shape) product *= static_cast<double>(size);
  if (product == static_cast<double>(data.synthetic.features)) return;
  out.push_back({"shape",
                 "its sizes must multiply to synthetic.features, " + std::to_string(data.synthetic.features),
                 {"synthetic.features", "kind"}});
}

}  // namespace

void DeviceConfig::validate(Findings& out) const {
  if (!is_device(kind)) out.push_back({"kind", "must be auto, cpu, cuda or cuda:N, but is \"" + kind + "\"", {}});
}

void DataConfig::validate(Findings& out) const {
  check_path(*this, out);
  check_shape(*this, out);
  const bool augmented = augment.flip || augment.crop_padding > 0;
  if (augmented && !image_shaped(*this)) {
    const std::string field = augment.flip ? "augment.flip" : "augment.crop_padding";
    out.push_back({field,
                   "only images can be augmented; set data.shape to [channels, height, width] if these are images",
                   {"shape", "kind"}});
  }
  if (image_size > 0 && !image_shaped(*this)) {
    out.push_back({"image_size", "only images can be scaled, and data of this kind is none", {"shape", "kind"}});
  }
}

void HostConfig::validate(Findings& out) const {
  check_modules(modules, out);
  if (kind == HostKind::kMlp && hidden.empty()) {
    out.push_back({"hidden", "an mlp needs a hidden layer; kind linear has none", {"kind"}});
  }
  if (kind == HostKind::kCnn) {
    if (kernel % 2 == 0) out.push_back({"kernel", "must be odd, but is " + std::to_string(kernel), {"kind"}});
    if (pool_layers > blocks) {
      out.push_back({"pool_layers", "must not exceed host.blocks, " + std::to_string(blocks), {"blocks", "kind"}});
    }
    constexpr std::int64_t kMostChannels = 65536;
    const std::int64_t last = base_channels << (std::clamp<std::int64_t>(blocks, 1, 16) - 1);
    if (last > kMostChannels) {
      out.push_back({"base_channels",
                     "the last of " + std::to_string(blocks) + " blocks would have " + std::to_string(last) +
                         " channels; the most is 65536",
                     {"blocks", "kind"}});
    }
  }
  if (kind == HostKind::kTransformer) {
    if (embedding % heads != 0) {
      out.push_back({"heads", "must divide host.embedding, " + std::to_string(embedding), {"embedding", "kind"}});
    }
    if (layers % segments != 0) {
      out.push_back({"segments", "must divide host.layers, " + std::to_string(layers), {"layers", "kind"}});
    }
  }
}

void TrainingConfig::validate(Findings& out) const {
  if (optimizer.nesterov && optimizer.kind != OptimizerKind::kSgd) {
    out.push_back({"optimizer.nesterov", "is a form of sgd; adamw has none", {"optimizer.kind"}});
  } else if (optimizer.nesterov && optimizer.momentum == 0) {
    out.push_back({"optimizer.nesterov", "needs a momentum above 0", {"optimizer.momentum"}});
  }
  const bool ends_early = schedule.kind == ScheduleKind::kCosine && schedule.total_steps > 0 &&
                          schedule.total_steps <= schedule.warmup_steps;
  if (ends_early) {
    out.push_back(
        {"schedule.total_steps",
         "must exceed schedule.warmup_steps, " + std::to_string(schedule.warmup_steps) + "; 0 takes the whole run",
         {"schedule.warmup_steps", "schedule.kind"}});
  }
}

void StepConfig::validate(Findings& out) const {
  if (compile.deadline <= Duration(0)) out.push_back({"compile.deadline", "must be longer than 0", {}});
}

namespace {

void check_classes(const AggregationConfig& aggregation, Findings& out) {
  const bool by_class = aggregation.attribution == Attribution::kDataloader;
  if (by_class && aggregation.classes.empty()) {
    out.push_back({"aggregation.classes",
                   "is empty, so attribution dataloader knows no seed; name slots and classes, like r0c0=0,1,2",
                   {"aggregation.attribution"}});
  }
  std::vector<std::string> slots;
  std::map<std::int64_t, std::string> taken;
  for (std::size_t i = 0; i < aggregation.classes.size(); ++i) {
    const std::string path = "aggregation.classes[" + std::to_string(i) + "]";
    const auto read = read_slot_classes(aggregation.classes[i]);
    slots.push_back(read ? read->slot : "");
    if (!read) {
      out.push_back({path, "\"" + aggregation.classes[i] + "\" is not a slot with its classes, like r0c1=0,1,2", {}});
      continue;
    }
    for (const std::int64_t one : read->classes) {
      const auto [other, is_new] = taken.emplace(one, read->slot);
      if (is_new || other->second == read->slot) continue;
      out.push_back({path, "class " + std::to_string(one) + " is given to " + other->second + " already", {}});
    }
  }
  check_unique(slots, "aggregation.classes", out);
}

void check_slot_alpha(const std::vector<std::string>& list, Findings& out) {
  std::vector<std::string> slots;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto read = read_slot_alpha(list[i]);
    const bool is_one = read && is_slot_id(read->slot);
    slots.push_back(is_one ? read->slot : "");
    if (!is_one) {
      out.push_back({"slot_alpha[" + std::to_string(i) + "]",
                     "\"" + list[i] +
                         "\" is no slot with curve (linear, cosine, sigmoid), epochs (1 or more) and target (0.05 to "
                         "1), like r0c1=cosine,8,0.7",
                     {}});
    }
  }
  check_unique(slots, "slot_alpha", out);
}

// How many places a host has where modules may grow: r0c0 and on.
std::size_t num_slots(const HostConfig& host) {
  switch (host.kind) {
    case HostKind::kLinear:
      break;
    case HostKind::kMlp:
      return host.hidden.size();
    case HostKind::kCnn:
      return static_cast<std::size_t>(host.blocks);
    case HostKind::kTransformer:
      return static_cast<std::size_t>(host.segments);
  }
  return 0;
}

// slots: by their place in the list of that path; empty where the text was no slot, which was told before.
void check_slots_exist(const std::string& path, const std::vector<std::string>& slots, const HostConfig& host,
                       Findings& out) {
  const std::size_t count = num_slots(host);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    bool exists = slots[i].empty();
    for (std::size_t column = 0; column < count; ++column) exists |= slots[i] == "r0c" + std::to_string(column);
    if (exists) continue;
    out.push_back({path + "[" + std::to_string(i) + "]",
                   "this host has no slot \"" + slots[i] + "\"; it has " +
                       (count == 0 ? "none" : "r0c0 to r0c" + std::to_string(count - 1)),
                   {"host.kind", "host.hidden", "host.blocks", "host.segments"}});
  }
}

void check_slots_exist(const GrowthConfig& growth, const HostConfig& host, Findings& out) {
  std::vector<std::string> named, built_in, blended, answering;
  for (const std::string& slot : growth.slots) named.push_back(is_slot_id(slot) ? slot : "");
  for (const std::string& module : host.modules) {
    const std::string slot = module.substr(0, module.find('='));
    built_in.push_back(is_slot_id(slot) ? slot : "");
  }
  for (const std::string& line : growth.slot_alpha) {
    const auto read = read_slot_alpha(line);
    blended.push_back(read && is_slot_id(read->slot) ? read->slot : "");
  }
  for (const std::string& line : growth.aggregation.classes) {
    const auto read = read_slot_classes(line);
    answering.push_back(read ? read->slot : "");
  }
  check_slots_exist("growth.slots", named, host, out);
  check_slots_exist("host.modules", built_in, host, out);
  check_slots_exist("growth.slot_alpha", blended, host, out);
  check_slots_exist("growth.aggregation.classes", answering, host, out);
}

}  // namespace

void GrowthConfig::validate(Findings& out) const {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (is_slot_id(slots[i])) continue;
    out.push_back(
        {"slots[" + std::to_string(i) + "]", "\"" + slots[i] + "\" is no slot; slots are named like r0c1", {}});
  }
  check_unique(slots, "slots", out);
  check_classes(aggregation, out);
  check_unique(blueprints, "blueprints", out);
  check_slot_alpha(slot_alpha, out);
}

void CounterfactualConfig::validate(Findings& out) const {
  if (deadline <= Duration(0)) out.push_back({"deadline", "must be longer than 0", {}});
}

void SafetyConfig::validate(Findings& out) const {
  const auto check = [&](Duration value, const char* path) {
    if (value <= Duration(0)) out.push_back({path, "must be longer than 0", {}});
  };
  check(data_deadline, "data_deadline");
  check(policy_deadline, "policy_deadline");
  check(save_deadline, "save_deadline");
}

void RunConfig::validate(Findings& out) const {
  if (!is_name(name)) {
    out.push_back(
        {"name",
         "must be 1 to 100 letters, digits, '.', '_' or '-', and start with a letter or digit or '_'; it is \"" + name +
             "\"",
         {}});
  }
  if (runs_dir.empty()) out.push_back({"runs_dir", "must name a folder", {}});
  check_slots_exist(growth, host, out);
  const bool text = data.kind == DataKind::kText;
  const bool transformer = host.kind == HostKind::kTransformer;
  const std::vector<std::string> kinds{"data.kind", "data.shape"};
  if (text && !transformer) {
    out.push_back({"host.kind",
                   "data of kind text needs a transformer, but this is " + std::string(name_of(host.kind)),
                   {"data.kind"}});
  } else if (transformer && !text) {
    out.push_back({"host.kind",
                   "a transformer needs data of kind text, but data.kind is " + std::string(name_of(data.kind)),
                   kinds});
  } else if (host.kind == HostKind::kCnn && !image_shaped(data)) {
    out.push_back(
        {"host.kind", "a cnn needs images; set data.shape to [channels, height, width] if these are images", kinds});
  }
}

}  // namespace esper::leyline
