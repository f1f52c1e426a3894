#include "data/readers/image_folder.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>

#include "data/files/image_resize.h"
#include "data/order/selection.h"
#include "unit/data/test_files.h"

namespace esper::data::test::image_folder_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::BadSample;

config::DataConfig config_of(const TempFolder& folder) {
  config::DataConfig config;
  config.kind = config::DataKind::kImages;
  config.path = folder.path();
  return config;
}

RawParts read(const config::DataConfig& config) {
  BadSamples bad(config.bad_sample);
  auto parts = read_image_folder(config, {}, bad);
  parts.skipped = bad.skipped();
  return parts;
}

std::string complaint(const config::DataConfig& config) {
  const auto error = error_of([&] { read(config); });
  CHECK(error.code() == base::ExitCode::kData);
  return error.what();
}

Bytes slice(const Bytes& all, std::size_t i, std::size_t size) {
  return Bytes(all.begin() + static_cast<std::ptrdiff_t>(i * size),
               all.begin() + static_cast<std::ptrdiff_t>((i + 1) * size));
}

void write_parts(const TempFolder& folder, int each) {
  for (int i = 0; i < each; ++i) {
    const auto name = std::to_string(1000 + i);
    write_file(folder / ("train/cat/" + name + ".png"), png(picture(8, 6, i)));
    write_file(folder / ("train/ant/" + name + ".PNG"), png(picture(8, 6, 100 + i)));
    write_file(folder / ("test/cat/" + name + ".png"), png(picture(8, 6, 200 + i)));
  }
}

TEST_CASE("images: folders are classes in order, a test folder validates, pixels come out exactly") {
  const TempFolder folder;
  write_parts(folder, 40);
  const auto parts = read(config_of(folder));
  CHECK(parts.train.class_names == std::vector<std::string>{"ant", "cat"});
  CHECK(parts.train.sizes == std::vector<std::int64_t>{3, 6, 8});
  REQUIRE(parts.train.labels.size() == 80);
  CHECK(parts.train.labels[39] == 0);
  CHECK(parts.train.labels[40] == 1);
  const auto& values = std::get<Bytes>(parts.train.values);
  for (int i = 0; i < 40; ++i) {
    REQUIRE(slice(values, static_cast<std::size_t>(i), 144) == to_planes(picture(8, 6, 100 + i), 3));
    REQUIRE(slice(values, static_cast<std::size_t>(40 + i), 144) == to_planes(picture(8, 6, i), 3));
  }
  REQUIRE(parts.validation);
  CHECK(parts.validation->class_names == std::vector<std::string>{"cat"});
}

TEST_CASE("images: the folder beside train that validates may be called validation, val or valid; test does not then") {
  const TempFolder folder;
  write_parts(folder, 10);
  const std::string name = GENERATE("validation", "val", "valid");
  write_file(folder / (name + "/ant/1.png"), png(picture(8, 6, 5)));
  auto config = config_of(folder);
  if (GENERATE(false, true)) config.test_path = folder / "test";
  const auto parts = read(config);
  CHECK(parts.train.labels.size() == 20);
  REQUIRE(parts.validation);
  CHECK(parts.validation->class_names == std::vector<std::string>{"ant"});
}

TEST_CASE("images: the test folder of a run that names it does not validate, and is decoded only to be tested on") {
  const TempFolder folder;
  write_parts(folder, 10);
  auto config = config_of(folder);
  const bool inside = GENERATE(false, true);
  config.test_path = inside ? folder / "test" : folder.path();
  write_file(folder / "test/cat/1003.png", "no picture");
  const auto trained = read(config);
  CHECK(trained.train.labels.size() == 16);
  CHECK(trained.validation->labels.size() == 4);
  CHECK(!trained.test);
  BadSamples bad(BadSample::kSkip);
  const auto tested = read_image_folder(config, {}, bad, TestPart::kRead);
  CHECK(tested.train.values == trained.train.values);
  CHECK(tested.validation->values == trained.validation->values);
  REQUIRE(tested.test);
  CHECK(tested.test->labels.size() == 9);
  CHECK(tested.test->class_names == std::vector<std::string>{"cat"});
}

TEST_CASE("images: three parts are split off before anything is decoded") {
  constexpr int kFiles = 20;
  const TempFolder folder;
  const auto name = [&](std::int64_t i) { return folder / ("c/" + std::to_string(10 + i) + ".png"); };
  for (int i = 0; i < kFiles; ++i) write_file(name(i), png(picture(4, 4, i)));
  auto config = config_of(folder);
  config.test_fraction = 0.2;
  const auto split = split_indices(kFiles, {0.2, 0.2}, 0);
  for (const auto i : split.test) write_file(name(i), "no picture");
  const auto parts = read(config);
  CHECK(parts.train.labels.size() == 12);
  CHECK(parts.validation->labels.size() == 4);
  const auto error = error_of([&] {
    BadSamples bad(BadSample::kFail);
    read_image_folder(config, {}, bad, TestPart::kRead);
  });
  CHECK_THAT(error.what(), ContainsSubstring(name(split.test[0]).string()));
}

TEST_CASE("images: JPEG decodes close to the picture") {
  const TempFolder folder;
  const auto original = picture(32, 32, 1);
  write_file(folder / "a.jpg", jpeg(original));
  const auto image = decode_image(folder / "a.jpg", {});
  REQUIRE(image.pixels.size() == original.pixels.size());
  double error = 0;
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    error += std::abs(int{image.pixels[i]} - int{original.pixels[i]});
  CHECK(error / static_cast<double>(image.pixels.size()) < 20);
}

TEST_CASE("images: max_samples picks evenly and leaves the rest undecoded") {
  const TempFolder folder;
  write_parts(folder, 10);
  // The picks of 4 out of 20 are 0, 5, 10, 15; a damaged file elsewhere is never opened.
  write_file(folder / "train/ant/1003.PNG", "no picture");
  auto config = config_of(folder);
  config.max_samples = 4;
  const auto parts = read(config);
  CHECK(parts.train.labels == std::vector<std::int64_t>{0, 0, 1, 1});
  CHECK(slice(std::get<Bytes>(parts.train.values), 1, 144) == to_planes(picture(8, 6, 105), 3));
}

TEST_CASE("images: a folder of classes alone is split") {
  const TempFolder folder;
  for (int i = 0; i < 10; ++i)
    write_file(folder / (std::string(i % 2 ? "b" : "a") + "/" + std::to_string(i) + ".png"), png(picture(4, 4, i)));
  const auto parts = read(config_of(folder));
  CHECK(parts.train.labels.size() == 8);
  CHECK(parts.validation->labels.size() == 2);
}

TEST_CASE("images: one channel on request, scaling on request") {
  const TempFolder folder;
  write_parts(folder, 2);
  auto config = config_of(folder);
  config.shape = {1, 5, 5};
  config.image_size = 5;
  const auto parts = read(config);
  CHECK(parts.train.sizes == std::vector<std::int64_t>{1, 5, 5});
  CHECK(slice(std::get<Bytes>(parts.train.values), 0, 25) == to_planes(resize_square(picture(8, 6, 100), 5), 1));
}

TEST_CASE("images: damaged and odd-sized pictures are named, or skipped and counted") {
  const TempFolder folder;
  write_parts(folder, 5);
  auto cut = jpeg(picture(8, 6, 1));
  cut.resize(cut.size() * 2 / 3);
  write_file(folder / "train/cat/1001.png", cut);
  auto config = config_of(folder);
  CHECK_THAT(complaint(config), ContainsSubstring("train/cat/1001.png: damaged JPEG"));
  auto flipped = png(picture(8, 6, 1));
  flipped[flipped.size() / 2] ^= 0x10;
  write_file(folder / "train/cat/1001.png", flipped);
  CHECK_THAT(complaint(config), ContainsSubstring("train/cat/1001.png: damaged PNG"));
  write_file(folder / "train/cat/1001.png", png(picture(9, 6, 1)));
  CHECK_THAT(complaint(config), ContainsSubstring("is 9 x 6 pixels, the first is 8 x 6"));
  write_file(folder / "train/cat/1002.png", "");
  config.bad_sample = BadSample::kSkip;
  const auto parts = read(config);
  CHECK(parts.skipped == 2);
  CHECK(parts.train.labels.size() == 8);
}

TEST_CASE("images: a picture that claims giant sizes is refused before memory is taken") {
  const TempFolder folder;
  auto bytes = png(picture(8, 6, 1));
  bytes[16] = 0x7f;  // width, big-endian, at byte 16; libpng checks the checksum first
  write_file(folder / "c/a.png", bytes);
  write_file(folder / "c/b.png", png(picture(8, 6, 1)));
  CHECK_THAT(complaint(config_of(folder)), ContainsSubstring(".png: damaged PNG"));
  auto large = jpeg(picture(8, 6, 1));
  const Bytes marker{0xff, 0xc0, 0x00, 0x11, 0x08};
  const auto frame = std::search(large.begin(), large.end(), marker.begin(), marker.end());
  REQUIRE(frame != large.end());
  std::fill_n(frame + 5, 4, std::uint8_t{0x7f});
  write_file(folder / "c/a.png", large);
  write_file(folder / "c/b.png", large);
  CHECK_THAT(complaint(config_of(folder)), ContainsSubstring("claims 32639 x 32639 pixels"));
}

TEST_CASE("images: a lack of memory ends the reading, it is no bad sample") {
  const TempFolder folder;
  write_file(folder / "c/a.png", png(picture(8, 6, 1)));
  write_file(folder / "c/b.png", png(picture(8, 6, 2)));
  write_file(folder / "d/large.png", png(picture(1000, 1000, 1)));
  auto config = config_of(folder);
  config.image_size = 4;
  const auto refused = [&](std::int64_t max_bytes) {
    BadSamples bad(BadSample::kSkip);
    const auto error = error_of([&] { read_image_folder(config, {BadSample::kSkip, max_bytes}, bad); });
    CHECK(error.code() == base::ExitCode::kResources);
    return std::string(error.what());
  };
  CHECK_THAT(refused(1 << 20), ContainsSubstring("d/large.png: ") && ContainsSubstring(" would take "));
  CHECK_THAT(refused(100), ContainsSubstring(".png: "));
}

TEST_CASE("images: pictures too large for all threads at once are decoded by fewer") {
  const TempFolder folder;
  write_file(folder / "train/c/a.png", png(picture(8, 6, 1)));
  for (int i = 0; i < 9; ++i)
    write_file(folder / ("train/c/large" + std::to_string(i) + ".png"), png(picture(300, 300, i)));
  write_file(folder / "test/c/a.png", png(picture(8, 6, 2)));
  auto config = config_of(folder);
  config.image_size = 4;
  const auto with_room = [&](std::int64_t max_bytes) {
    BadSamples bad(BadSample::kFail);
    return read_image_folder(config, {BadSample::kFail, max_bytes, "memory.max of cgroup /jobs, 2 MiB"}, bad).train;
  };
  const auto samples = with_room(310'000);  // one large picture takes 270000 bytes
  REQUIRE(samples.labels.size() == 10);
  for (int i = 0; i < 9; ++i) {
    const auto one = slice(std::get<Bytes>(samples.values), static_cast<std::size_t>(i) + 1, 48);
    CHECK(one == to_planes(resize_square(picture(300, 300, i), 4), 3));
  }
  const auto error = error_of([&] { with_room(260'000); });
  CHECK(error.code() == base::ExitCode::kResources);
  CHECK_THAT(error.what(), ContainsSubstring(".png: decoding its 300 x 300 pixels would take ") &&
                               ContainsSubstring("(memory.max of cgroup /jobs, 2 MiB)"));
}

TEST_CASE("images: bad pictures are left out after the split and after max_samples, as docs/batch_order.md says") {
  constexpr int kFiles = 20, kWanted = 8;
  const TempFolder folder;
  const auto name = [&](std::int64_t i) { return folder / ("c/" + std::to_string(10 + i) + ".png"); };
  for (int i = 0; i < kFiles; ++i) write_file(name(i), png(picture(4, 4, i)));
  auto config = config_of(folder);
  config.bad_sample = BadSample::kSkip;
  config.max_samples = kWanted;
  auto expected = split_indices(kFiles, {config.validation_fraction, 0}, config.split_seed).train;
  REQUIRE(expected.size() == 16);
  for (std::size_t i = 0; i < kWanted; ++i) expected[i] = expected[i * 16 / kWanted];
  expected.resize(kWanted);
  write_file(name(expected[3]), "no picture");
  expected.erase(expected.begin() + 3);
  const auto parts = read(config);
  CHECK(parts.skipped == 1);
  REQUIRE(parts.train.labels.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto original = picture(4, 4, static_cast<int>(expected[i]));
    CHECK(slice(std::get<Bytes>(parts.train.values), i, 48) == to_planes(original, 3));
  }
}

TEST_CASE("images: folders without pictures are refused") {
  const TempFolder folder;
  CHECK_THAT(complaint(config_of(folder)), ContainsSubstring("holds no images"));
  auto config = config_of(folder);
  config.path = folder / "none";
  CHECK_THAT(complaint(config), ContainsSubstring("cannot be listed"));
}

}  // namespace
}  // namespace esper::data::test::image_folder_test
