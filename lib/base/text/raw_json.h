#pragma once
// JSON text taken apart without being parsed: parsing what a reader does not want takes most of its time. Any thread.

#include <optional>
#include <string_view>
#include <vector>

namespace esper::base {

// The place behind the value that begins at `at`; npos where it has no end. Of objects and lists only brackets and
// texts are looked at: whether the rest is valid shows when the value is parsed.
std::size_t behind_json_value(std::string_view text, std::size_t at);

struct RawMember {
  std::string_view name, value;  // as they are written; the name without its quotes
};
using RawObject = std::vector<RawMember>;

// The members of the object that is the whole text, in their order. Nothing where it is none.
std::optional<RawObject> raw_object(std::string_view text);

// Of the first member of that name; empty where there is none.
std::string_view raw_value(const RawObject& object, std::string_view name);

}  // namespace esper::base
