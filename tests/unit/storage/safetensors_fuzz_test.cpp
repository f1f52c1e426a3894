// Mutations of a good file, the same ones every time: whatever the reader accepts must keep every promise of the
// format.

#include <catch2/catch_test_macros.hpp>
#include <random>

#include "storage/safetensors/safetensors.h"
#include "support/faults/mutated.h"
#include "unit/storage/safetensors_sample.h"

namespace esper::test::safetensors_fuzz_test {

using namespace esper::storage;
using namespace esper::test;

namespace {

constexpr int kMutations = 30'000;

std::string good_file() {
  static const std::string data(64, '\x5a');
  const Bytes bytes = bytes_of(data);
  return written_safetensors({{"host.weight", Dtype::kF32, {2, 3}, bytes.first(24)},
                              {"host.bias", Dtype::kBF16, {3}, bytes.first(6)},
                              {"step", Dtype::kI64, {}, bytes.first(8)},
                              {"mask", Dtype::kBool, {0, 4}, {}}},
                             {{"seed", "1337"}});
}

// One to four changes; structure is hit more often than chance would.
std::string mutated(std::string file, std::mt19937_64& random) {
  constexpr std::string_view kPieces[] = {"0",
                                          "9",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          ",",
                                          "\"",
                                          ":",
                                          "-",
                                          ".",
                                          "e",
                                          "\\u0000",
                                          "18446744073709551615",
                                          "9223372036854775807",
                                          "null",
                                          "[]",
                                          "\"dtype\""};
  return esper::test::mutated(std::move(file), kPieces, 4, random);
}

// As `mutated`, but only the header changes and its length is put right: such files get past the first checks.
std::string with_mutated_header(const std::string& file, std::mt19937_64& random) {
  const auto length = load_little_endian<std::uint64_t>(bytes_of(file));
  return raw_safetensors(mutated(file.substr(8, length), random), file.size() - 8 - length);
}

void check_promises(const std::string& file, const Safetensors& parsed) {
  const Bytes whole = bytes_of(file);
  const std::byte* position = parsed.tensors.empty() ? nullptr : parsed.tensors.front().bytes.data();
  for (const auto& tensor : parsed.tensors) {
    REQUIRE(tensor.bytes.data() == position);
    REQUIRE(byte_count(tensor.shape, tensor.dtype) == tensor.bytes.size());
    REQUIRE(tensor.shape.size() <= kMaxRank);
    position += tensor.bytes.size();
  }
  if (position != nullptr) REQUIRE(position == whole.data() + whole.size());
}

}  // namespace

TEST_CASE("mutated files are refused, or keep every promise and survive a round trip") {
  const std::string good = good_file();
  REQUIRE(parse_safetensors(bytes_of(good)));
  std::mt19937_64 random(20240501);
  int accepted = 0;
  for (int i = 0; i < kMutations; ++i) {
    // Its own allocation of the exact size, so that the address sanitizer sees a read beyond it.
    const std::string changed = i % 2 == 0 ? mutated(good, random) : with_mutated_header(good, random);
    const std::vector<char> exact(changed.begin(), changed.end());
    const auto parsed = parse_safetensors(bytes_of(std::string_view(exact.data(), exact.size())));
    REQUIRE((parsed || !parsed.error().problem.empty()));
    if (!parsed) continue;
    ++accepted;
    check_promises(changed, *parse_safetensors(bytes_of(changed)));
    const std::string again = written_safetensors(parsed->tensors, parsed->metadata);
    REQUIRE(parse_safetensors(bytes_of(again))->tensors.size() == parsed->tensors.size());
  }
  CHECK(accepted > kMutations / 100);
  CHECK(accepted < kMutations / 2);
}

}  // namespace esper::test::safetensors_fuzz_test
