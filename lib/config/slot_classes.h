#pragma once
// The ids of slots, and the classes that the seed in a slot answers for, as a configuration writes them. Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace esper::config {

// "r0c1"
bool is_slot_id(std::string_view id);

struct SlotClasses {
  static constexpr std::int64_t kMostClasses = 1'000'000;
  std::string slot;
  std::vector<std::int64_t> classes;
};
// Of "r0c1=0,1,2"; nothing if the text is not of that form.
std::optional<SlotClasses> read_slot_classes(std::string_view text);

// A class that such a line names and the data do not have.
struct AbsentClass {
  std::size_t line = 0;  // index
  std::string text;      // a sentence
};
// Classes are counted from 0. Lines of another form are passed over.
std::vector<AbsentClass> absent_classes(const std::vector<std::string>& lines, std::int64_t num_classes);

}  // namespace esper::config
