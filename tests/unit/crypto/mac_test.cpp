#include "crypto/mac.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::crypto::mac_test {

TEST_CASE("HMAC-SHA256 is that of RFC 4231") {
  MacKey key{};
  for (int i = 0; i < 20; ++i) key[static_cast<std::size_t>(i)] = std::byte{0x0b};  // zeros behind a key change nothing
  const auto mac = mac_of(key, storage::bytes_of("Hi "), storage::bytes_of("There"));
  CHECK(mac == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(is_same_mac(mac, mac_of(key, storage::bytes_of("Hi There"), {})));
  CHECK_FALSE(is_same_mac(mac, mac.substr(1)));
  MacKey other = key;
  other[31] = std::byte{1};
  CHECK_FALSE(is_same_mac(mac, mac_of(other, storage::bytes_of("Hi There"), {})));
  CHECK(hex_of(other).starts_with("0b0b0b"));
  CHECK(hex_of(other).ends_with("01"));
}

TEST_CASE("each new key is another one") { CHECK(new_key() != new_key()); }

}  // namespace esper::crypto::mac_test
