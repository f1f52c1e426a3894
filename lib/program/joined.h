#pragma once
// Pieces of text as one, which is made once.

#include <initializer_list>
#include <string>
#include <string_view>

namespace esper::program {

inline std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text.append(part);
  return text;
}

}  // namespace esper::program
