#pragma once
// Files with damage, for fuzzing.

#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace esper::test {

// One to `most` changes. pieces: of the format's text, so that structure is hit more often than chance would.
inline std::string mutated(std::string file, std::span<const std::string_view> pieces, unsigned most,
                           std::mt19937_64& random) {
  for (auto changes = 1 + random() % most; changes > 0 && !file.empty(); --changes) {
    const std::size_t at = random() % file.size();
    switch (random() % 6) {
      case 0:
        file[at] = static_cast<char>(random());
        break;
      case 1:
        file[at] = static_cast<char>(file[at] ^ (1 << random() % 8));
        break;
      case 2:
        file.erase(at, 1 + random() % 16);
        break;
      case 3:
        file.insert(at, pieces[random() % pieces.size()]);
        break;
      case 4:
        file.replace(at, 1, pieces[random() % pieces.size()]);
        break;
      default:
        file.resize(random() % (file.size() + 64), '\0');
    }
  }
  return file;
}

}  // namespace esper::test
