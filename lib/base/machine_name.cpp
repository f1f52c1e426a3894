#include "base/machine_name.h"

#include <array>
#include <cctype>

#include "base/hash.h"

namespace esper::base {
namespace {

constexpr std::size_t kMostCharacters = 40, kHashDigits = 8;
// Parts of processor names without information.
constexpr std::array<std::string_view, 4> kNoise{"(R)", "(TM)", "(tm)", "CPU"};

std::string without_noise(std::string_view model) {
  std::string text(model.substr(0, model.find('@')));
  for (const std::string_view noise : kNoise) {
    for (auto at = text.find(noise); at != std::string::npos; at = text.find(noise)) text.erase(at, noise.size());
  }
  return text;
}

}  // namespace

std::string machine_name(std::string_view cpu_model, std::string_view fingerprint) {
  std::string name;
  for (const char raw : without_noise(cpu_model)) {
    const auto c = static_cast<unsigned char>(raw);
    if (std::isalnum(c) != 0) {
      name += static_cast<char>(std::tolower(c));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  name = name.substr(0, kMostCharacters);
  while (!name.empty() && name.back() == '-') name.pop_back();
  if (name.empty()) name = "machine";
  return name + "-" + hash_text(fnv1a(fingerprint)).substr(0, kHashDigits);
}

}  // namespace esper::base
