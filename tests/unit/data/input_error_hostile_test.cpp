// Damaged files of every format: a reader returns samples or throws Error, kData or kResources; nothing else, and never
// much memory.

#include <array>
#include <catch2/catch_test_macros.hpp>

#include "data/order/random.h"
#include "data/readers/cifar10_reader.h"
#include "data/readers/csv_reader.h"
#include "data/readers/idx_reader.h"
#include "data/readers/npy_reader.h"
#include "data/readers/text_reader.h"
#include "unit/data/test_files.h"

namespace esper::data::test::input_error_hostile_test {
namespace {

const ReadOptions kOptions{config::BadSample::kSkip, 1 << 20};

// One to four changes: a flipped bit, a byte of 0, 127 or 255, four bytes of 255, a cut, a doubled or a lost stretch.
Bytes mutated(Bytes bytes, std::uint64_t key) {
  std::uint64_t counter = 0;
  const auto below = [&](std::size_t n) {
    return random_below(key, counter++, static_cast<std::uint32_t>(std::max<std::size_t>(n, 1)));
  };
  const auto changes = 1 + below(4);
  for (std::uint32_t change = 0; change < changes && !bytes.empty(); ++change) {
    // Half of the changes hit the first bytes, where headers are.
    const auto at = below(2) ? below(bytes.size()) : below(std::min<std::size_t>(bytes.size(), 128));
    const auto place = bytes.begin() + at;
    const auto stretch = std::min<std::size_t>(below(16) + 1, bytes.size() - at);
    switch (below(6)) {
      case 0:
        *place ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1:
        *place = std::array<std::uint8_t, 3>{0, 127, 255}[below(3)];
        break;
      case 2:
        std::fill_n(place, std::min<std::size_t>(4, stretch), std::uint8_t{255});
        break;
      case 3:
        bytes.resize(at);
        break;
      case 4: {
        const Bytes copy(place, place + static_cast<std::ptrdiff_t>(stretch));
        bytes.insert(place, copy.begin(), copy.end());
        break;
      }
      default:
        bytes.erase(place, place + static_cast<std::ptrdiff_t>(stretch));
    }
  }
  return bytes;
}

// Reads the good file and `count` damaged ones; returns how many of these were refused.
template <class Read>
int fuzz(const std::filesystem::path& file, const Bytes& good, int count, Read read) {
  write_file(file, good);
  read();
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    write_file(file, mutated(good, key_of(2024, Stream::kNoise, static_cast<std::uint64_t>(i))));
    try {
      read();
    } catch (const base::Error& error) {
      INFO("change " << i << ": " << error.what());
      REQUIRE((error.code() == base::ExitCode::kData || error.code() == base::ExitCode::kResources));
      ++refused;
    }
  }
  return refused;
}

void check_consistent(const RawSamples& samples) {
  const auto count = std::visit([](const auto& v) { return v.size(); }, samples.values);
  REQUIRE(count == samples.labels.size() * static_cast<std::size_t>(elements_of(samples.sizes)));
  for (const auto label : samples.labels) REQUIRE((label >= 0 && label < kMaxClasses));
}

TEST_CASE("damaged CSV files, packed and not") {
  const TempFolder folder;
  const auto file = folder / "a.csv";
  const auto good = to_bytes("height,\"the width\",class\n1.5,2,\"ant\"\n-3e2,4,bee\n\"5\",6,\"c,d\"\n7,8,ant\n");
  const auto read = [&] {
    BadSamples bad(kOptions.bad_sample);
    check_consistent(read_csv(file, kOptions, bad));
  };
  CHECK(fuzz(file, good, 3000, read) > 0);
  CHECK(fuzz(file, gzip(good), 3000, read) > 1500);
}

TEST_CASE("damaged IDX files") {
  const TempFolder folder;
  const auto images = folder / "images", labels = folder / "labels";
  const auto good_images = idx({3, 2, 2}, Bytes(12, 9)), good_labels = idx({3}, {0, 1, 2});
  write_file(labels, good_labels);
  const auto read = [&] { check_consistent(read_idx(images, kOptions).train); };
  CHECK(fuzz(images, good_images, 3000, read) > 1500);
  CHECK(fuzz(images, gzip(good_images), 1000, read) > 500);
  write_file(images, good_images);
  CHECK(fuzz(labels, good_labels, 3000, read) > 1500);
}

TEST_CASE("damaged CIFAR-10 files") {
  const TempFolder folder;
  const auto read = [&] {
    BadSamples bad(kOptions.bad_sample);
    check_consistent(read_cifar10(folder.path(), kOptions, bad).train);
  };
  CHECK(fuzz(folder / "data_batch_1.bin", Bytes(2 * 3073, 5), 2000, read) > 500);
}

TEST_CASE("damaged arrays and archives") {
  const TempFolder folder;
  const auto x = npy("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6})),
             y = npy("<i8", "(2,)", raw<std::int64_t>({1, 0}));
  write_file(folder / "y.npy", y);
  const auto read_from = [&](const std::filesystem::path& path) {
    BadSamples bad(kOptions.bad_sample);
    check_consistent(read_npy(path, kOptions, bad).train);
  };
  CHECK(fuzz(folder / "x.npy", x, 4000, [&] { read_from(folder.path()); }) > 1000);
  const auto archive = folder / "a.npz";
  for (const auto packing : {Packing::kStored, Packing::kDeflated}) {
    CHECK(fuzz(archive, zip({{"x.npy", x}, {"y.npy", y}}, packing), 3000, [&] { read_from(archive); }) > 2000);
  }
}

TEST_CASE("damaged pictures") {
  const TempFolder folder;
  const auto file = folder / "a";
  const auto read = [&] {
    const auto image = decode_image(file, kOptions);
    REQUIRE(image.pixels.size() == static_cast<std::size_t>(image.width * image.height * 3));
  };
  CHECK(fuzz(file, png(picture(20, 15, 1)), 3000, read) > 2000);
  CHECK(fuzz(file, jpeg(picture(20, 15, 1)), 3000, read) > 500);
}

TEST_CASE("damaged text") {
  const TempFolder folder;
  const auto file = folder / "a.txt";
  const auto good = to_bytes("na\xc3\xafve caf\xc3\xa9 costs 3 \xe2\x82\xac, \xf0\x9f\x98\x80");
  const auto read = [&] {
    BadSamples bad(kOptions.bad_sample);
    for (const auto c : vocabulary_of({read_text(file, kOptions, bad)})) REQUIRE(c <= 0x10ffff);
  };
  fuzz(file, good, 100, read);
  CHECK(fuzz(file, gzip(good), 100, read) > 50);
}

}  // namespace
}  // namespace esper::data::test::input_error_hostile_test
