#pragma once
// What the fuzzed readers share. An input is bytes as libFuzzer makes them; where a reader takes more than one file, or
// options, they are taken off its front.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace esper::fuzz {

// Good inputs to begin with; each program has its own.
std::vector<std::string> seeds();

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : left_(reinterpret_cast<const char*>(data), size) {}

  std::uint8_t byte() {
    if (left_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(left_.front());
    left_.remove_prefix(1);
    return first;
  }
  // As part() below wrote it; less where the input ends.
  std::string_view part() {
    const std::size_t low = byte(), length = low + 256u * byte();
    const auto taken = left_.substr(0, length);
    left_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() const { return left_; }

 private:
  std::string_view left_;
};

inline std::string part(std::string_view text) {
  std::string out{static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return out.append(text);
}

// A promise of the reader that is broken is a crash.
inline void expect(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace esper::fuzz
