// Mutations of a good policy file, the same ones every time: none crashes or hangs the reader, and what it accepts has
// the contents of the good file.

#include <catch2/catch_test_macros.hpp>
#include <random>

#include "storage/little_endian.h"
#include "storage/safetensors/safetensors.h"
#include "support/faults/mutated.h"
#include "tamiyo/network/initial_weights.h"
#include "tamiyo/network/policy_file.h"

namespace esper::test::policy_file_fuzz_test {

using namespace esper;
using namespace esper::tamiyo;

namespace {

constexpr int kMutations = 100'000;

// Of one that draws its weights, without the work of drawing them for each mutation.
std::string good_file() {
  PolicyFile policy{initial_weights(5)};
  policy.drawn_from = 5;
  policy.weights["value.bias"] = policy.weights["value.bias"] + 0.5;
  policy.weights["seed_scores.bias"] = policy.weights["seed_scores.bias"] + 0.25;
  policy.provenance.emplace().runs = {{"runs/a", "0123456789abcdef", RunPart::kTraining, 90, 2}};
  std::string file;
  write_policy(policy, [&file](storage::Bytes bytes) { file += storage::text_of(bytes); });
  return file;
}

// One to three changes.
std::string mutated(std::string file, std::mt19937_64& random) {
  constexpr std::string_view kPieces[] = {"0",      "9",    "-",     "e9",      "[",
                                          "]",      "{",    "}",     ",",       "\"",
                                          ":",      "null", "1e400", "\\u0000", "18446744073709551616",
                                          "esper.", "F16",  "\\\""};
  return test::mutated(std::move(file), kPieces, 3, random);
}

// Only the header changes and its length is put right: such files get past the first checks.
std::string with_mutated_header(const std::string& file, std::mt19937_64& random) {
  const auto length = storage::load_little_endian<std::uint64_t>(storage::bytes_of(file));
  const std::string header = mutated(file.substr(8, length), random);
  std::vector<std::byte> begin;
  storage::append_little_endian<std::uint64_t>(begin, header.size());
  return std::string(storage::text_of(begin)) + header + file.substr(8 + length);
}

std::string contents_of(const StoredPolicy& stored) {
  const auto& policy = stored.policy;
  return provenance_text(policy.provenance.value()) + stored.fingerprint + fingerprint(policy.weights) +
         std::to_string(policy.drawn_from.value());
}

}  // namespace

TEST_CASE("100,000 mutated policy files: each is refused with a reason, or has the contents of the good one") {
  const std::string good = good_file();
  const auto read = read_stored_policy(storage::bytes_of(good));
  INFO(read.error_or(""));
  REQUIRE(read);
  const std::string contents = contents_of(*read);
  std::mt19937_64 random(20240514);
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string changed = i % 4 == 0 ? mutated(good, random) : with_mutated_header(good, random);
    // Its own allocation of the exact size, so that the address sanitizer sees a read beyond it.
    const std::vector<char> exact(changed.begin(), changed.end());
    const auto stored = read_stored_policy(storage::bytes_of(std::string_view(exact.data(), exact.size())));
    if (!stored) {
      if (stored.error().empty()) FAIL("refused without a reason: mutation " << i);
      ++refused;
    } else if (contents_of(*stored) != contents) {
      FAIL("accepted with other contents: mutation " << i);
    }
  }
  CHECK(refused > kMutations * 9 / 10);
}

}  // namespace esper::test::policy_file_fuzz_test
