#include "storage/checksum.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::checksum_test {

using namespace esper::storage;

// Known answers of the xxHash project: the values are part of our file formats.
TEST_CASE("hashes have the published values") {
  CHECK(hex64(hash64({})) == "2d06800538d394c2");
  CHECK(hash32({}, 0) == 0x02cc5d05u);
  CHECK(hash32(bytes_of("abc"), 0) == 0x32d153ffu);
}

TEST_CASE("a hash in pieces is the hash of the whole") {
  const std::string text(100'000, 'x');
  Hash64 hash;
  for (std::size_t start = 0; start < text.size(); start += 777) {
    hash.update(bytes_of(std::string_view(text).substr(start, 777)));
  }
  CHECK(hash.digest() == hash64(bytes_of(text)));
}

}  // namespace esper::test::checksum_test
