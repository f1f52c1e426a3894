#pragma once
// Hashes and mixing in integer arithmetic: the same on every machine and for ever, since config hashes, initial values
// and the order of data depend on them. Not against malice. Any thread.

#include <cstdint>
#include <string>
#include <string_view>

namespace esper::base {

// FNV-1a, 64 bit (Fowler, Noll, Vo).
constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  return hash;
}

// SplitMix64's step and finaliser (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

}  // namespace esper::base
