#pragma once
// Checksums against accidents, not against attackers: XXH3-64 for files, XXH32 for journal records. Their values are
// part of the file formats and the same on every machine. Any thread; one Hash64 belongs to one thread.

#include <cstdint>
#include <memory>
#include <string>

#include "storage/bytes.h"

struct XXH3_state_s;

namespace esper::storage {

std::uint64_t hash64(Bytes bytes);
std::uint32_t hash32(Bytes bytes, std::uint32_t seed);

// 16 lower-case hexadecimal digits.
std::string hex64(std::uint64_t hash);

// hash64 of the concatenation of all pieces.
class Hash64 {
 public:
  Hash64();
  void update(Bytes bytes);
  std::uint64_t digest() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace esper::storage
