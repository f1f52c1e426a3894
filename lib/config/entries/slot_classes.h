#pragma once
// The classes that the seed in a slot answers for, as a configuration writes them. Any thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/entries/entry.h"

namespace esper::config {

struct SlotClasses {
  static constexpr std::int64_t kMostClasses = 1'000'000;
  std::string slot;
  std::vector<std::int64_t> classes;

  // Of "r0c1=0,1,2". Whether there are such a slot and such classes is not looked at.
  static base::Expected<SlotClasses> parse(std::string_view text);
};

// A class that such a line names and the data do not have.
struct AbsentClass {
  std::size_t line = 0;  // index
  std::string text;      // a sentence
};
// Classes are counted from 0. Lines of another form are passed over.
std::vector<AbsentClass> absent_classes(const std::vector<Entry<SlotClasses>>& lines, std::int64_t num_classes);

}  // namespace esper::config
