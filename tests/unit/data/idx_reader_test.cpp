#include "data/readers/idx_reader.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "unit/data/test_files.h"

namespace esper::data::test::idx_reader_test {
namespace {

using Catch::Matchers::ContainsSubstring;

const Bytes kPixels{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};  // two pictures of 2 x 3

std::string complaint(const Bytes& images, const Bytes& labels) {
  const TempFolder folder;
  write_file(folder / "my-images.idx3", images);
  write_file(folder / "my-labels.idx1", labels);
  const auto error = error_of([&] { read_idx(folder / "my-images.idx3", {}); });
  CHECK(error.code() == base::ExitCode::kData);
  return error.what();
}

TEST_CASE("idx: a folder with the standard names, packed or not") {
  const TempFolder folder;
  write_file(folder / "train-images-idx3-ubyte.gz", gzip(idx({2, 2, 3}, kPixels)));
  write_file(folder / "train-labels-idx1-ubyte", idx({2}, {7, 0}));
  write_file(folder / "t10k-images.idx3-ubyte", idx({2, 2, 3}, kPixels));
  write_file(folder / "t10k-labels.idx1-ubyte.gz", gzip(idx({2}, {1, 2})));
  const auto parts = read_idx(folder.path(), {});
  CHECK(std::get<Bytes>(parts.train.values) == kPixels);
  CHECK(parts.train.sizes == std::vector<std::int64_t>{1, 2, 3});
  CHECK(parts.train.labels == std::vector<std::int64_t>{7, 0});
  REQUIRE(parts.test);
  CHECK(parts.test->labels == std::vector<std::int64_t>{1, 2});
  CHECK(!parts.validation);
}

TEST_CASE("idx: a file of images finds its labels") {
  const TempFolder folder;
  write_file(folder / "my-images.idx3", idx({2, 2, 3}, kPixels));
  write_file(folder / "my-labels.idx1", idx({2}, {3, 4}));
  const auto parts = read_idx(folder / "my-images.idx3", {});
  CHECK(parts.train.labels == std::vector<std::int64_t>{3, 4});
  CHECK(!parts.test);
}

TEST_CASE("idx: a part that is not wanted is not opened") {
  const TempFolder folder;
  write_file(folder / "train-images-idx3-ubyte", idx({2, 2, 3}, kPixels));
  write_file(folder / "train-labels-idx1-ubyte", idx({2}, {7, 0}));
  CHECK(!read_idx(folder.path(), {}, Parts::kTest).test);
  write_file(folder / "t10k-images-idx3-ubyte", "damaged");
  write_file(folder / "t10k-labels-idx1-ubyte", idx({2}, {1, 2}));
  CHECK(!read_idx(folder.path(), {}, Parts::kTraining).test);
  write_file(folder / "t10k-images-idx3-ubyte", idx({2, 2, 3}, kPixels));
  write_file(folder / "train-images-idx3-ubyte", "damaged");
  const auto parts = read_idx(folder.path(), {}, Parts::kTest);
  REQUIRE(parts.test);
  CHECK(parts.test->labels == std::vector<std::int64_t>{1, 2});
  CHECK(parts.train.labels.empty());
  CHECK(find_idx_test(folder.path()) == folder / "t10k-images-idx3-ubyte");
}

TEST_CASE("idx: damaged files are refused with the byte") {
  const auto labels = idx({2}, {0, 1});
  auto wrong_magic = idx({2, 2, 3}, kPixels);
  wrong_magic[0] = 'P';
  CHECK_THAT(complaint(wrong_magic, labels), ContainsSubstring("my-images.idx3: byte 0: not an IDX file"));
  auto wrong_type = idx({2, 2, 3}, kPixels);
  wrong_type[2] = 0x0d;
  CHECK_THAT(complaint(wrong_type, labels), ContainsSubstring("byte 2: element type 13"));
  auto cut = idx({2, 2, 3}, kPixels);
  cut.resize(cut.size() - 5);
  CHECK_THAT(complaint(cut, labels), ContainsSubstring("byte 16: the header declares 12 elements, the file holds 7"));
  cut.resize(9);
  CHECK_THAT(complaint(cut, labels), ContainsSubstring("byte 9: the file ends inside the header"));
  CHECK_THAT(complaint(idx({1u << 20, 1u << 10, 1u << 10}, kPixels), labels),
             ContainsSubstring("declares 1099511627776 elements"));
  CHECK_THAT(complaint(idx({~0u, ~0u, ~0u}, kPixels), labels), ContainsSubstring("more than 2^63"));
  CHECK_THAT(complaint(idx({0, 2, 3}, {}), labels), ContainsSubstring("holds no elements"));
  CHECK_THAT(complaint(idx({2, 2, 3}, kPixels), idx({3}, {0, 1, 2})), ContainsSubstring("3 labels for 2 images"));
}

TEST_CASE("idx: a folder that lacks a file says which") {
  const TempFolder folder;
  CHECK_THAT(error_of([&] { read_idx(folder.path(), {}); }).what(),
             ContainsSubstring("holds no train-images-idx3-ubyte"));
  write_file(folder / "train-images-idx3-ubyte", idx({2, 2, 3}, kPixels));
  CHECK_THAT(error_of([&] { read_idx(folder.path(), {}); }).what(),
             ContainsSubstring("holds no train-labels-idx1-ubyte"));
}

}  // namespace
}  // namespace esper::data::test::idx_reader_test
