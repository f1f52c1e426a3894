// The rules between fields. What depends on the data itself (does the file exist, does the shape fit) is checked where
// the data is opened.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "base/names.h"
#include "base/text/digits_only.h"
#include "base/text/printable.h"
#include "config/facts/data_facts.h"
#include "config/facts/exported_host.h"
#include "config/facts/slot_geometry.h"
#include "config/rules/rules.h"

namespace esper::config {

using base::Duration;
using base::in_quotes;
using base::name_of;
using base::shortened;

namespace {

bool is_device(std::string_view kind) {
  if (kind == "auto" || kind == "cpu" || kind == "cuda") return true;
  constexpr std::string_view kIndexed = "cuda:";
  constexpr std::size_t kMostDigits = 3;
  if (!kind.starts_with(kIndexed)) return false;
  const std::string_view index = kind.substr(kIndexed.size());
  return base::digits_only(index) && index.size() <= kMostDigits;
}

bool is_name(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  constexpr std::size_t kMost = 100;
  return !text.empty() && text.size() <= kMost && text.find_first_not_of(kAllowed) == std::string_view::npos &&
         text[0] != '.' && text[0] != '-';
}

// "r0c1=conv_heavy"; whether host and catalogue have them: check_names().
void check_modules(const std::vector<Entry<SlotModule>>& modules, Findings& out) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::string path = fmt::format("modules[{}]", i);
    if (!modules[i]) {
      out.push_back({path, modules[i].problem(), {}});
    } else if (!taken.insert(modules[i]->slot).second) {
      out.push_back({path, "slot " + shortened(modules[i]->slot) + " already has a module of this list", {}});
    }
  }
}

void check_exported(const HostConfig& host, Findings& out) {
  const bool is_exported = host.kind == HostKind::kExported;
  if (!is_exported && !host.path.empty()) {
    out.push_back({"path", "belongs to host.kind exported; this is " + std::string(name_of(host.kind)), {"kind"}});
  } else if (is_exported && host.path.empty()) {
    out.push_back({"path", "names no folder; set it to one that `esper import` wrote", {"kind"}});
  } else if (is_exported) {
    if (const auto read = read_exported_host(host.path); !read) out.push_back({"path", read.error(), {"kind"}});
  }
  if (host.unfreeze_epoch > 0 && host.freeze.empty()) {
    out.push_back({"unfreeze_epoch", "nothing is frozen; set host.freeze to patterns of parameter names", {"freeze"}});
  }
}

}  // namespace

void DeviceConfig::validate(Findings& out) const {
  if (!is_device(kind)) out.push_back({"kind", "must be auto, cpu, cuda or cuda:N, but is " + in_quotes(kind), {}});
}

void HostConfig::validate(Findings& out) const {
  check_modules(modules, out);
  if (kind == HostKind::kMlp && hidden.empty()) {
    out.push_back({"hidden", "an mlp needs a hidden layer; kind linear has none", {"kind"}});
  }
  check_exported(*this, out);
  if (kind == HostKind::kCnn) {
    if (kernel % 2 == 0) out.push_back({"kernel", fmt::format("must be odd, but is {}", kernel), {"kind"}});
    if (pool_layers > blocks) {
      out.push_back({"pool_layers", fmt::format("must not exceed host.blocks, {}", blocks), {"blocks", "kind"}});
    }
    const std::int64_t last = block_channels(*this, std::clamp<std::int64_t>(blocks, 1, 16) - 1);
    if (last > kMostChannels) {
      out.push_back({"base_channels",
                     fmt::format("the last of {} blocks would have {} channels; the most is 65536", blocks, last),
                     {"blocks", "kind"}});
    }
  }
  if (kind == HostKind::kTransformer) {
    if (embedding % heads != 0) {
      out.push_back({"heads", fmt::format("must divide host.embedding, {}", embedding), {"embedding", "kind"}});
    }
    if (layers % segments != 0) {
      out.push_back({"segments", fmt::format("must divide host.layers, {}", layers), {"layers", "kind"}});
    }
  }
}

void TrainingConfig::validate(Findings& out) const {
  if (optimizer.nesterov && optimizer.kind != OptimizerKind::kSgd) {
    out.push_back({"optimizer.nesterov", "applies to sgd, not to adamw", {"optimizer.kind"}});
  } else if (optimizer.nesterov && optimizer.momentum == 0) {
    out.push_back({"optimizer.nesterov", "needs momentum > 0", {"optimizer.momentum"}});
  }
  const bool ends_early = schedule.kind == ScheduleKind::kCosine && schedule.total_steps > 0 &&
                          schedule.total_steps <= schedule.warmup_steps;
  if (ends_early) {
    out.push_back({"schedule.total_steps",
                   fmt::format("must exceed schedule.warmup_steps, {}; 0 uses the whole run", schedule.warmup_steps),
                   {"schedule.warmup_steps", "schedule.kind"}});
  }
}

void StepConfig::validate(Findings& out) const {
  if (compile.deadline <= Duration(0)) out.push_back({"compile.deadline", "must be > 0", {}});
}

void SafetyConfig::validate(Findings& out) const {
  constexpr std::size_t kLongestSignalName = 200;
  const auto check = [&](Duration value, const char* path) {
    if (value <= Duration(0)) out.push_back({path, "must be > 0", {}});
  };
  check(data_deadline, "data_deadline");
  check(policy_deadline, "policy_deadline");
  check(policy_start_deadline, "policy_start_deadline");
  check(save_deadline, "save_deadline");
  check(rollback_deadline, "rollback_deadline");
  for (const auto& [path, name] : {std::pair{"emergency.signal_name", &emergency.signal_name},
                                   std::pair{"emergency.rollback_signal_name", &emergency.rollback_signal_name}}) {
    const bool is_name = name->find('/') == std::string::npos && *name != "." && *name != "..";
    if (is_name && name->size() <= kLongestSignalName) continue;
    out.push_back({path, "must be a name without '/', at most 200 characters long", {}});
  }
  if (!emergency.signal_name.empty() && emergency.signal_name == emergency.rollback_signal_name) {
    out.push_back({"emergency.rollback_signal_name", "must be another name than safety.emergency.signal_name", {}});
  }
}

void TelemetryConfig::validate(Findings& out) const {
  if (limit_mb == 0 || limit_mb >= 2 * std::int64_t{segment_mb}) return;
  out.push_back(
      {"limit_mb",
       fmt::format("must be 0 or >= 2 * telemetry.segment_mb ({}): the current file and one full file need this space",
                   segment_mb),
       {"segment_mb"}});
}

void RunConfig::validate(Findings& out) const {
  if (!is_name(name)) {
    out.push_back(
        {"name",
         "must be 1 to 100 letters, digits, '.', '_' or '-', and start with a letter or digit or '_'; it is " +
             in_quotes(name),
         {}});
  }
  if (runs_dir.empty()) out.push_back({"runs_dir", "must name a folder", {}});
  check_task(*this, out);
  check_names(*this, out);
  check_schedule(*this, out);
  check_control_budget(*this, out);
  check_deepening(*this, out);
  const auto& run_schedule = training.schedule;
  const bool stops =
      run_schedule.kind == ScheduleKind::kCosine && run_schedule.total_steps > 0 && run_schedule.min_factor == 0;
  if (stops && growth.seed_schedule.kind == SeedScheduleKind::kCosine) {
    out.push_back({"growth.seed_schedule.kind",
                   "cosine continues to the run's end, but training.schedule is at factor 0 from total_steps on; set "
                   "training.schedule.min_factor above 0, or total_steps to 0",
                   {"training.schedule.total_steps", "training.schedule.min_factor"}});
  }
  const bool tokens = has_tokens(data, task);
  const bool transformer = host.kind == HostKind::kTransformer;
  if (host.kind == HostKind::kExported) return;  // its input is compared with the data when they are there
  const std::vector<std::string> kinds{"data.kind", "data.shape"};
  if (tokens && !transformer && host.kind != HostKind::kExported) {
    out.push_back(
        {"host.kind",
         fmt::format("data of kind {}{} needs a transformer or an exported host, but this is {}", name_of(data.kind),
                     data.kind == DataKind::kProcess ? " with task language" : "", name_of(host.kind)),
         {"data.kind"}});
  } else if (transformer && !tokens) {
    out.push_back(
        {"host.kind",
         fmt::format(
             "a transformer needs data of kind text or tokens, or process with task language, but data.kind is {}",
             name_of(data.kind)),
         kinds});
  } else if (host.kind == HostKind::kCnn && !image_shaped(data)) {
    out.push_back(
        {"host.kind", "a cnn needs images; set data.shape to [channels, height, width] if these are images", kinds});
  }
}

}  // namespace esper::config
