#include "data/readers/webdataset_reader.h"

#include <fmt/core.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "data/dataset.h"
#include "data/files/tar_archive.h"
#include "unit/data/test_files.h"

namespace esper::data::test::webdataset_reader_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::DataConfig;
using config::DataKind;
using config::Task;

Bytes header_of(const std::string& name, std::size_t size, char type = '0') {
  Bytes block(512);
  const auto put = [&](std::size_t at, const std::string& text) {
    std::copy(text.begin(), text.end(), block.begin() + at);
  };
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(124, fmt::format("{:011o}", size));
  put(156, std::string(1, type));
  put(257, std::string("ustar\00000", 8));
  std::fill_n(block.begin() + 148, 8, std::uint8_t{' '});
  std::int64_t sum = 0;
  for (const auto byte : block) sum += byte;
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return block;
}

void append_member(Bytes& out, const NamedBytes& member, char type = '0') {
  const auto header = header_of(member.name, member.bytes.size(), type);
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), member.bytes.begin(), member.bytes.end());
  out.resize((out.size() + 511) / 512 * 512);
}

Bytes tar(const std::vector<NamedBytes>& members) {
  Bytes out;
  for (const auto& member : members) append_member(out, member);
  out.resize(out.size() + 1024);
  return out;
}

NamedBytes text(const std::string& name, const std::string& content) { return {name, to_bytes(content)}; }
NamedBytes image(const std::string& name, int seed) { return {name, png(picture(4, 4, seed))}; }
NamedBytes array(const std::string& name, float first) {
  return {name, npy("<f4", "(3,)", raw<float>({first, first + 1, first + 2}))};
}

class Shards {
 public:
  explicit Shards(const Bytes& first) {
    add("00.tar", first);
    config.kind = DataKind::kWebdataset;
    config.path = folder_.path();
    config.validation_fraction = 0.5;
  }
  void validate_on_a_copy() {
    config.validation_path = folder_ / "copy";
    std::filesystem::create_directory(config.validation_path);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) std::filesystem::copy(entry, config.validation_path);
    }
  }
  void add(const std::string& name, const Bytes& bytes) { write_file(folder_ / name, bytes); }
  Splits load(Task task = Task::kClassification) const { return load_dataset(config, TestPart::kUnread, task); }
  std::string complaint(Task task = Task::kClassification) const {
    const auto error = error_of([&] { load(task); });
    CHECK(error.code() == base::ExitCode::kData);
    return error.what();
  }

  DataConfig config;

 private:
  TempFolder folder_;
};

TEST_CASE("tar: long names, pax headers, folders and links") {
  Bytes archive;
  append_member(archive, text("folder/", ""), '5');
  append_member(archive, text("link", ""), '2');
  append_member(archive, text("././@LongLink", std::string(150, 'a') + std::string(1, '\0')), 'L');
  append_member(archive, text("cut", "one"));
  append_member(archive, text("pax", "16 path=b/c.txt\n9 size=2\n"), 'x');
  append_member(archive, text("old", "two"));
  append_member(archive, text("plain.txt", "three"));
  archive.resize(archive.size() + 1024);
  const auto members = list_tar(archive, "a.tar");
  REQUIRE(members.size() == 3);
  CHECK(members[0].name == std::string(150, 'a'));
  CHECK(members[1].name == "b/c.txt");
  CHECK(members[1].size == 2);
  CHECK(members[2].name == "plain.txt");
  CHECK(std::string(archive.begin() + members[2].begin, archive.begin() + members[2].begin + 5) == "three");
}

TEST_CASE("tar: damaged and cut archives are refused with the byte") {
  const auto good = tar({text("a.cls", "1"), text("b.cls", std::string(600, 'x'))});
  const auto complaint = [](const Bytes& bytes) {
    return std::string(error_of([&] { list_tar(bytes, "a.tar"); }).what());
  };
  auto flipped = good;
  flipped[3] ^= 1;
  CHECK_THAT(complaint(flipped), ContainsSubstring("a.tar: byte 0: not a tar header, or a damaged one"));
  CHECK_THAT(complaint(Bytes(good.begin(), good.begin() + 1700)),
             ContainsSubstring("byte 1024: the archive is truncated: a member of 600 bytes"));
  CHECK_THAT(complaint(Bytes(good.begin(), good.begin() + 1100)), ContainsSubstring("truncated in a header"));
  CHECK_THAT(complaint(gzip(good)), ContainsSubstring("is compressed"));
  Bytes pax;
  append_member(pax, text("p", "99 path=x\n"), 'x');
  CHECK_THAT(complaint(pax), ContainsSubstring("a damaged extended header"));
  Bytes huge;
  append_member(huge, text("p", "32 size=9223372036854775807 xxx\n"), 'x');
  append_member(huge, text("a.cls", "1"));
  CHECK_THAT(complaint(huge), ContainsSubstring("damaged extended header"));
  Bytes lying;
  append_member(lying, text("p", "28 size=9223372036854775807\n"), 'x');
  append_member(lying, text("a.cls", "1"));
  CHECK_THAT(complaint(lying), ContainsSubstring("the archive is truncated: a member of 9223372036854775807 bytes"));
}

TEST_CASE("webdataset: images and their classes over several shards, in the order of the names") {
  Shards shards(tar({image("x/1.png", 1), text("x/1.cls", "7\n"), text("x/2.cls", "3"), image("x/2.png", 2)}));
  shards.add("01.tar", tar({{"1.jpg", jpeg(picture(4, 4, 3))}, text("1.cls", "3"), text("1.txt", "what it shows")}));
  shards.add("notes.txt", to_bytes("no shard"));
  shards.validate_on_a_copy();
  const auto splits = shards.load();
  CHECK(splits.train.shape == leyline::image_shape(3, 4, 4, 2));
  CHECK(splits.train.class_names == std::vector<std::string>{"3", "7"});
  CHECK(torch::equal(splits.train.targets, torch::tensor({1, 0, 0}, torch::kInt64)));
  const auto expected = to_planes(picture(4, 4, 2), 3);
  CHECK(std::equal(expected.begin(), expected.end(), splits.train.inputs[1].const_data_ptr<std::uint8_t>()));
}

TEST_CASE("webdataset: arrays, and targets in .json") {
  Shards shards(tar({array("a.npy", 1), text("a.json", R"({"price": 2.5, "kind": "flat", "warm": true})"),
                     array("b.npy", 5), text("b.json", R"({"price": -1, "kind": "house", "warm": false})")}));
  shards.validate_on_a_copy();
  shards.config.columns.target = {"price", "warm"};
  const auto numbers = shards.load(Task::kRegression);
  CHECK(numbers.train.shape == leyline::features_shape(3, 2));
  CHECK(torch::equal(numbers.train.targets, torch::tensor({{2.5f, 1.f}, {-1.f, 0.f}})));
  CHECK(torch::equal(numbers.train.inputs, torch::tensor({{1.f, 2.f, 3.f}, {5.f, 6.f, 7.f}})));
  shards.config.columns.target = {"kind"};
  CHECK(shards.load().train.class_names == std::vector<std::string>{"flat", "house"});
  CHECK_THAT(shards.complaint(Task::kRegression), ContainsSubstring("expected a number as the target, found \"flat\""));
  shards.config.columns.target = {"prise"};
  CHECK_THAT(shards.complaint(), ContainsSubstring("00.tar/a: its .json has no number or text \"prise\""));
}

TEST_CASE("webdataset: arrays of uint8 are pixels, and do not go together with numbers") {
  const auto pixels = [](const std::string& name, std::uint8_t first) {
    return NamedBytes{name, npy("|u1", "(2, 2)", {first, 1, 2, 255})};
  };
  Shards shards(tar({pixels("a.npy", 7), text("a.cls", "0"), pixels("b.npy", 9), text("b.cls", "1")}));
  shards.validate_on_a_copy();
  const auto splits = shards.load();
  CHECK(splits.train.shape == leyline::image_shape(1, 2, 2, 2));
  CHECK(torch::equal(splits.train.inputs.flatten(), torch::tensor({7, 1, 2, 255, 9, 1, 2, 255}, torch::kUInt8)));
  const NamedBytes numbers{"b.npy", npy("<f4", "(2, 2)", raw<float>({1, 2, 3, 4}))};
  Shards mixed(tar({pixels("a.npy", 7), text("a.cls", "0"), numbers, text("b.cls", "1")}));
  CHECK_THAT(mixed.complaint(), ContainsSubstring("00.tar/b.npy: holds numbers, the first array pixels (uint8)"));
}

TEST_CASE("webdataset: data.max_samples thins each part, not what the parts are split from") {
  std::vector<NamedBytes> images, arrays;
  for (int i = 0; i < 8; ++i) {
    const std::string key = std::to_string(i);
    images.insert(images.end(), {image(key + ".png", i), text(key + ".cls", i % 2 == 0 ? "a" : "b")});
    arrays.insert(arrays.end(),
                  {array(key + ".npy", static_cast<float>(i)), text(key + ".cls", i % 2 == 0 ? "a" : "b")});
  }
  for (const auto& members : {images, arrays}) {
    Shards shards(tar(members));
    shards.config.max_samples = 3;
    const auto splits = shards.load();
    CHECK(num_samples(splits.train) == 3);
    CHECK(num_samples(splits.validation) == 3);
  }
}

TEST_CASE("webdataset: samples that lack something are named, or skipped and counted") {
  const auto complaint = [](const Bytes& shard) { return Shards(shard).complaint(); };
  CHECK_THAT(complaint(tar({image("a.png", 1)})), ContainsSubstring("00.tar/a: has no .cls"));
  CHECK_THAT(complaint(tar({text("a.cls", "1")})), ContainsSubstring("00.tar/a: has no .jpg"));
  CHECK_THAT(complaint(tar({image("a.png", 1), text("a.cls", "0.5")})), ContainsSubstring("a whole number or a name"));
  CHECK_THAT(complaint(tar({text("a.cls", "1"), text("a.cls", "1"), image("a.png", 1)})),
             ContainsSubstring("occurs twice"));
  CHECK_THAT(complaint(tar({image("a.png", 1), text("a.cls", "1"), array("b.npy", 1), text("b.cls", "1")})),
             ContainsSubstring("arrays and images cannot be mixed"));
  CHECK_THAT(complaint(tar({{"a.png", to_bytes("no image")}, text("a.cls", "1")})),
             ContainsSubstring("00.tar/a.png: byte 0: is neither JPEG nor PNG"));
  CHECK_THAT(complaint(tar({array("a.npy", NAN), text("a.cls", "1")})), ContainsSubstring("not finite"));
  CHECK_THAT(complaint(tar({})), ContainsSubstring("holds no samples"));
  Shards skipping(tar({image("a.png", 1), text("a.cls", "1"), image("b.png", 1), text("c.cls", "1"), image("d.png", 2),
                       text("d.cls", "0"), image("e.png", 2), text("e.cls", "")}));
  skipping.config.bad_sample = config::BadSample::kSkip;
  const auto splits = skipping.load();
  CHECK(splits.skipped == 3);
  CHECK(num_samples(splits.train) + num_samples(splits.validation) == 2);
}

TEST_CASE("webdataset: an array that is damaged or of no sample's shape is named, or skipped and counted") {
  NamedBytes cut = array("c.npy", 3);
  cut.bytes.resize(cut.bytes.size() - 2);
  const NamedBytes flat{"a.npy", npy("<f4", "()", raw<float>({1}))};
  const auto twice = text("e.cls", "0");
  Shards shards(tar({flat, text("a.cls", "0"), array("b.npy", 1), text("b.cls", "1"), cut, text("c.cls", "0"),
                     array("d.npy", 5), text("d.cls", "0"), array("e.npy", 7), twice, twice}));
  CHECK_THAT(shards.complaint(), ContainsSubstring("00.tar/e: .cls occurs twice"));
  shards.config.bad_sample = config::BadSample::kSkip;
  const auto splits = shards.load();
  CHECK(splits.skipped == 3);
  CHECK(num_samples(splits.train) + num_samples(splits.validation) == 2);
  CHECK_THAT(Shards(tar({cut, text("c.cls", "0")})).complaint(),
             ContainsSubstring("00.tar/c.npy: byte 128: the header declares 12 bytes of elements, the file holds 10"));
  CHECK_THAT(Shards(tar({flat, text("a.cls", "0")})).complaint(),
             ContainsSubstring("00.tar/a.npy: expected [features]"));
}

TEST_CASE("webdataset: no change of a byte crashes the reader") {
  const auto good = tar({array("a.npy", 1), text("a.cls", "1"), array("b.npy", 5), text("b.cls", "0")});
  int refused = 0;
  for (std::size_t i = 0; i < good.size(); i += 3) {
    for (const std::uint8_t bits : {0x01, 0x80, 0xff}) {
      auto bytes = good;
      bytes[i] ^= bits;
      const Shards shards(bytes);
      try {
        shards.load();
      } catch (const base::Error& error) {
        CHECK(error.code() == base::ExitCode::kData);
        ++refused;
      }
    }
  }
  CHECK(refused > 500);
}

}  // namespace
}  // namespace esper::data::test::webdataset_reader_test
