#include "config/entries/group_rule.h"

#include <fmt/core.h>

#include "base/parse_number.h"
#include "base/text/printable.h"

namespace esper::config {

using base::in_quotes;

namespace {

constexpr double kMostFactor = 1000, kMostDecay = 10;

// One of "lr=0.1" and "weight_decay=0".
base::Expected<void> take(std::string_view setting, GroupRule& rule) {
  const auto equals = setting.find('=');
  const auto key = setting.substr(0, equals);
  if (key != "lr" && key != "weight_decay") return base::failure(in_quotes(key) + " is neither lr nor weight_decay");
  const double most = key == "lr" ? kMostFactor : kMostDecay;
  const auto text = equals == std::string_view::npos ? std::string_view() : setting.substr(equals + 1);
  const double number = base::parse_number<double>(text).value_or(-1);
  if (!(number >= 0 && number <= most)) {
    return base::failure(fmt::format("{} is not {}=NUMBER with a number from 0 to {}", in_quotes(setting), key, most));
  }
  if (key == "lr") {
    rule.lr = number;
  } else {
    rule.weight_decay = number;
  }
  return {};
}

}  // namespace

base::Expected<GroupRule> GroupRule::parse(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    return base::failure(in_quotes(text) +
                         " is not PATTERN:lr=FACTOR,weight_decay=VALUE, like features.*:lr=0.1,weight_decay=0");
  }
  GroupRule rule{std::string(text.substr(0, colon)), 1, std::nullopt};
  for (auto rest = text.substr(colon + 1);;) {
    const auto comma = rest.find(',');
    if (const auto taken = take(rest.substr(0, comma), rule); !taken) {
      return base::failure("in " + in_quotes(text) + ", " + taken.error());
    }
    if (comma == std::string_view::npos) return rule;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace esper::config
