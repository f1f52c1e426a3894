#include "data/readers/cifar10_reader.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "unit/data/test_files.h"

namespace esper::data::test::cifar10_reader_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::BadSample;

Bytes record(std::uint8_t label, std::uint8_t pixel) {
  Bytes bytes(3073, pixel);
  bytes[0] = label;
  return bytes;
}

TEST_CASE("cifar10: batches in order, and the test batch") {
  const TempFolder folder;
  write_file(folder / "data_batch_2.bin", record(9, 20));
  write_file(folder / "data_batch_1.bin", record(3, 10));
  write_file(folder / "test_batch.bin", record(0, 30));
  BadSamples bad(BadSample::kFail);
  const auto parts = read_cifar10(folder.path(), {}, bad);
  CHECK(parts.train.labels == std::vector<std::int64_t>{3, 9});
  CHECK(parts.train.sizes == std::vector<std::int64_t>{3, 32, 32});
  CHECK(std::get<Bytes>(parts.train.values)[3072] == 20);
  CHECK(parts.train.class_names.at(9) == "truck");
  REQUIRE(parts.test);
  CHECK(parts.test->labels == std::vector<std::int64_t>{0});
  write_file(folder / "data_batch_1.bin", "damaged");
  CHECK(read_cifar10(folder.path(), {}, bad, Parts::kTest).test->labels == std::vector<std::int64_t>{0});
  write_file(folder / "data_batch_1.bin", record(3, 10));
  write_file(folder / "test_batch.bin", "damaged");
  CHECK(!read_cifar10(folder.path(), {}, bad, Parts::kTraining).test);
}

TEST_CASE("cifar10: damaged folders and records are refused, or skipped where that is allowed") {
  const TempFolder folder;
  BadSamples strict(BadSample::kFail), lenient(BadSample::kSkip);
  CHECK_THAT(error_of([&] { read_cifar10(folder.path(), {}, strict); }).what(),
             ContainsSubstring("holds no data_batch_1.bin"));
  auto bytes = record(3, 10);
  const auto wrong = record(77, 11);
  bytes.insert(bytes.end(), wrong.begin(), wrong.end());
  write_file(folder / "data_batch_1.bin", bytes);
  CHECK_THAT(error_of([&] { read_cifar10(folder.path(), {}, strict); }).what(),
             ContainsSubstring("data_batch_1.bin: byte 3073: class 77"));
  CHECK(read_cifar10(folder.path(), {}, lenient).train.labels.size() == 1);
  CHECK(lenient.skipped() == 1);
  bytes.resize(bytes.size() - 1);
  write_file(folder / "data_batch_1.bin", bytes);
  CHECK_THAT(error_of([&] { read_cifar10(folder.path(), {}, lenient); }).what(),
             ContainsSubstring("byte 3073: the last record is truncated: 3072 of 3073 bytes"));
}

}  // namespace
}  // namespace esper::data::test::cifar10_reader_test
