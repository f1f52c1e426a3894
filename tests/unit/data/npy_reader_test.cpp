#include "data/readers/npy_reader.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "data/files/npy_array.h"
#include "unit/data/test_files.h"

namespace esper::data::test::npy_reader_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::BadSample;

RawParts read(const std::filesystem::path& path, BadSample policy = BadSample::kFail) {
  BadSamples bad(policy);
  auto parts = read_npy(path, {}, bad);
  parts.skipped = bad.skipped();
  return parts;
}

const Bytes kFloats = npy("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6}));
const Bytes kLabels = npy("<i8", "(2,)", raw<std::int64_t>({1, 0}));

std::string complaint(const Bytes& x, const Bytes& y) {
  const TempFolder folder;
  write_file(folder / "x.npy", x);
  write_file(folder / "y.npy", y);
  const auto error = error_of([&] { read(folder.path()); });
  CHECK(error.code() == base::ExitCode::kData);
  return error.what();
}

TEST_CASE("npz: stored and deflated archives, all three pairs of names") {
  const TempFolder folder;
  for (const auto packing : {Packing::kStored, Packing::kDeflated}) {
    for (const auto& [x, y] : {std::pair{"x", "y"}, std::pair{"inputs", "targets"}, std::pair{"x_train", "y_train"}}) {
      write_file(folder / "a.npz",
                 zip({{std::string(x) + ".npy", kFloats}, {std::string(y) + ".npy", kLabels}}, packing));
      const auto parts = read(folder / "a.npz");
      CHECK(std::get<std::vector<float>>(parts.train.values) == std::vector<float>{1, 2, 3, 4, 5, 6});
      CHECK(parts.train.labels == std::vector<std::int64_t>{1, 0});
      CHECK(!parts.test);
    }
  }
  write_file(folder / "b.npz",
             zip({{"x_train.npy", kFloats}, {"y_train.npy", kLabels}, {"x_test.npy", kFloats}, {"y_test.npy", kLabels}},
                 Packing::kStored));
  CHECK(read(folder / "b.npz").test);
}

TEST_CASE("npy: pictures of bytes stay bytes, channels last is turned") {
  const TempFolder folder;
  write_file(folder / "y.npy", npy("|u1", "(1, 1)", {2}));
  write_file(folder / "x.npy", npy("|u1", "(1, 2, 2)", {1, 2, 3, 4}));
  CHECK(read(folder.path()).train.sizes == std::vector<std::int64_t>{1, 2, 2});
  write_file(folder / "x.npy", npy("|u1", "(1, 2, 2, 3)", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  const auto turned = read(folder.path()).train;
  CHECK(turned.sizes == std::vector<std::int64_t>{3, 2, 2});
  CHECK(std::get<Bytes>(turned.values) == Bytes{1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12});
}

TEST_CASE("npy: damaged headers and sizes are refused with the byte") {
  CHECK_THAT(complaint(to_bytes("not numpy at all"), kLabels), ContainsSubstring("byte 0: not a .npy file"));
  CHECK_THAT(complaint(npy("<f4", "(1099511627776, 3)", raw<float>({1})), kLabels),
             ContainsSubstring("declares 13194139533312 bytes"));
  CHECK_THAT(complaint(npy("<f4", "(9223372036854775807, 3)", raw<float>({1})), kLabels),
             ContainsSubstring("more than 2^63"));
  CHECK_THAT(complaint(npy("<f4", "(-2, 3)", raw<float>({1})), kLabels), ContainsSubstring("a size is not a number"));
  CHECK_THAT(complaint(npy("|O", "(2, 3)", {}), kLabels),
             ContainsSubstring("unsupported element type \"|O\"") && !ContainsSubstring("damaged"));
  CHECK_THAT(complaint(npy("<f4", "(2, 3)", raw<float>({1, 2})), kLabels),
             ContainsSubstring("declares 24 bytes of elements, the file holds 8"));
  CHECK_THAT(complaint(npy("<f4", "__import__('os')", raw<float>({1})), kLabels), ContainsSubstring("expected '('"));
  CHECK_THAT(complaint(npy("<f4", "(2,)", raw<float>({1, 2})), kLabels), ContainsSubstring("1 dimensions"));
  CHECK_THAT(complaint(kFloats, npy("<i8", "(3,)", raw<std::int64_t>({1, 0, 1}))),
             ContainsSubstring("3 classes for 2 samples"));
  CHECK_THAT(complaint(kFloats, npy("<i8", "(2, 2)", raw<std::int64_t>({1, 0, 0, 1}))),
             ContainsSubstring("not [2, 2]; rows of numbers are targets of task: regression"));
}

TEST_CASE("npy: a header with one key twice in place of another is refused") {
  constexpr std::string_view kOrder = "'fortran_order': False", kShape = "'shape': (1,)         ";
  static_assert(kOrder.size() == kShape.size());
  auto twice = kFloats;  // would be [1, 2, 3]
  std::copy(kShape.begin(), kShape.end(), std::search(twice.begin(), twice.end(), kOrder.begin(), kOrder.end()));
  CHECK_THAT(complaint(twice, kLabels), ContainsSubstring("damaged .npy header: a key twice"));
}

TEST_CASE("npy: numbers that are not finite and impossible classes are bad samples") {
  const auto x = npy("<f4", "(3, 1)", raw<float>({1, NAN, 3}));
  const auto y = npy("<f8", "(3,)", raw<double>({0, 1, 0.5}));
  CHECK_THAT(complaint(x, y), ContainsSubstring("x.npy: sample 1: holds a number that is not finite"));
  const TempFolder folder;
  write_file(folder / "x.npy", x);
  write_file(folder / "y.npy", y);
  const auto parts = read(folder.path(), BadSample::kSkip);
  CHECK(parts.skipped == 2);
  CHECK(std::get<std::vector<float>>(parts.train.values) == std::vector<float>{1});
}

TEST_CASE("npz: damaged archives are refused") {
  const TempFolder folder;
  const auto good = zip({{"x.npy", kFloats}, {"y.npy", kLabels}}, Packing::kDeflated);
  const auto refuse = [&](const Bytes& bytes) {
    write_file(folder / "a.npz", bytes);
    return std::string(error_of([&] { read(folder / "a.npz"); }).what());
  };
  CHECK_THAT(refuse(Bytes(good.begin(), good.end() - 30)), ContainsSubstring("directory is missing"));
  auto flipped = good;
  flipped[60] ^= 1;
  CHECK_THAT(refuse(flipped), ContainsSubstring("byte "));
  auto changed = zip({{"x.npy", kFloats}, {"y.npy", kLabels}}, Packing::kStored);
  changed[35 + kFloats.size() - 2] ^= 1;  // in the last number of x: 30 bytes of header and 5 of name come before it
  CHECK_THAT(refuse(changed), ContainsSubstring("member x.npy fails its checksum"));
  CHECK_THAT(refuse(zip({{"X.npy", kFloats}, {"Y.npy", kLabels}}, Packing::kStored)),
             ContainsSubstring("holds no arrays x and y") && ContainsSubstring("it holds X.npy, Y.npy"));
  CHECK_THAT(refuse(zip({{"x.npy", kFloats}}, Packing::kStored)), ContainsSubstring("there is x but no y"));
  CHECK_THAT(refuse(zip({{"x.npy", kFloats}, {"y.npy", kLabels}, {"y.npy", kLabels}}, Packing::kStored)),
             ContainsSubstring("member y.npy occurs twice"));
  CHECK_THAT(refuse(kFloats), ContainsSubstring("is one array"));
}

TEST_CASE("npz: a member that claims more than it can hold is refused before memory is taken") {
  const TempFolder folder;
  auto bytes = zip({{"x.npy", kFloats}, {"y.npy", kLabels}}, Packing::kStored);
  const Bytes entry{0x50, 0x4b, 0x01, 0x02};
  const auto at = std::search(bytes.begin(), bytes.end(), entry.begin(), entry.end());
  std::fill_n(at + 24, 4, std::uint8_t{0xfe});
  write_file(folder / "a.npz", bytes);
  CHECK_THAT(error_of([&] { read(folder / "a.npz"); }).what(), ContainsSubstring("claims 4278124286 bytes"));
}

}  // namespace
}  // namespace esper::data::test::npy_reader_test
