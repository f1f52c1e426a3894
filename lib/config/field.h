#pragma once
// Declaring a config struct: one list of fields, which loading, dumping, the JSON schema and the docs all walk.
//
//   struct StepConfig {
//     int accumulation = 1;
//     template <class = void>   // instantiated only where it is walked: it takes the compiler long
//     static constexpr auto fields() {
//       return std::tuple{field("accumulation", &StepConfig::accumulation, "microbatches per step", at_least(1))};
//     }
//     void validate(Findings& out) const;   // optional: rules between fields
//   };
//
// An enum that appears in a config has `constexpr auto names(E)`, an array of pairs {value, "name"}, beside it.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace esper::config {

// Inclusive bounds of a number (of each element, for a list of numbers).
struct Limits {
  std::optional<double> min, max;
};
constexpr Limits at_least(double low) { return {low, std::nullopt}; }
constexpr Limits between(double low, double high) { return {low, high}; }

template <class Struct, class Member>
struct Field {
  std::string_view key;
  Member Struct::* member;
  std::string_view help;
  Limits limits;
};

template <class Struct, class Member>
constexpr Field<Struct, Member> field(std::string_view key, Member Struct::* member, std::string_view help,
                                      Limits limits = {}) {
  return {key, member, help, limits};
}

// A finding of validate(): a path relative to its struct ("optimizer.momentum"), a sentence with the remedy, and
// the other fields of the rule, the one most likely to be wrong first. A finding is dropped where one of
// these fields could not be read at all.
struct Finding {
  std::string path, text;
  std::vector<std::string> also;
};
using Findings = std::vector<Finding>;

}  // namespace esper::config
