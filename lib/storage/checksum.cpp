#include "storage/checksum.h"

#include <xxhash.h>

#include <new>

namespace esper::storage {

std::uint64_t hash64(Bytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint32_t hash32(Bytes bytes, std::uint32_t seed) { return XXH32(bytes.data(), bytes.size(), seed); }

std::string hex64(std::uint64_t hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, hash >>= 4) text[i] = kDigits[hash & 15];
  return text;
}

void Hash64::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

Hash64::Hash64() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset(state_.get());
}

void Hash64::update(Bytes bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }

std::uint64_t Hash64::digest() const { return XXH3_64bits_digest(state_.get()); }

}  // namespace esper::storage
