// Data that cannot be trained on: exit 3, the file named, and no run folder.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::bad_data_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string idx_images(std::uint32_t magic, std::uint32_t count, std::size_t bytes) {
  return big_endian(magic) + big_endian(count) + big_endian(28) + big_endian(28) + std::string(bytes, '\x10');
}

std::string npy(const std::string& shape, std::size_t bytes) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
         std::string(bytes, '\0');
}

std::string gzip_begin() { return contents_of(ESPER_SOURCE_DIR "/data/digits/digits.csv.gz").substr(0, 2000); }

struct Case {
  const char* kind;
  const char* path;  // given as data.path
  std::vector<std::pair<const char*, std::string>> files;
};

std::vector<Case> cases() {
  const std::string labels = big_endian(0x801) + big_endian(10) + std::string(10, '\1');
  return {
      {"csv", "missing.csv", {}},
      {"csv", "empty.csv", {{"empty.csv", ""}}},
      {"csv", "words.csv", {{"words.csv", "1,2,0\n3,x,1\n"}}},
      {"csv", "ragged.csv", {{"ragged.csv", "1,2,0\n3,1\n"}}},
      {"csv", "cut.csv.gz", {{"cut.csv.gz", gzip_begin()}}},
      {"csv", "fake.csv.gz", {{"fake.csv.gz", "no gzip at all"}}},
      {"csv", ".", {}},
      {"mnist", "missing", {}},
      {"mnist", "m1", {{"m1/train-images-idx3-ubyte", ""}, {"m1/train-labels-idx1-ubyte", labels}}},
      {"mnist",
       "m2",
       {{"m2/train-images-idx3-ubyte", idx_images(0x803, 10, 7839)}, {"m2/train-labels-idx1-ubyte", labels}}},
      {"mnist",
       "m3",
       {{"m3/train-images-idx3-ubyte", idx_images(0x1234, 10, 7840)}, {"m3/train-labels-idx1-ubyte", labels}}},
      {"mnist",
       "m4",
       {{"m4/train-images-idx3-ubyte", idx_images(0x803, 0xffffffff, 7840)}, {"m4/train-labels-idx1-ubyte", labels}}},
      {"npy", "n1", {{"n1/x.npy", ""}, {"n1/y.npy", ""}}},
      {"npy", "n2", {{"n2/x.npy", npy("(10, 4)", 159)}, {"n2/y.npy", npy("(10,)", 40)}}},
      {"npy", "n3", {{"n3/x.npy", npy("(1000000000000, 1000000000)", 160)}, {"n3/y.npy", npy("(10,)", 40)}}},
      {"npy", "n4", {{"n4/x.npy", "NUMPY" + npy("(10, 4)", 160)}, {"n4/y.npy", npy("(10,)", 40)}}},
      {"npy", "z.npz", {{"z.npz", "PK\3\4 and no more"}}},
      {"images", "missing", {}},
      {"images", "i1", {{"i1/readme.txt", "no classes"}}},
      {"images", "i2", {{"i2/a/1.png", ""}, {"i2/b/1.png", ""}}},
      {"images", "i3", {{"i3/a/1.png", "\x89PNG\r\n\x1a\n cut"}, {"i3/b/1.jpg", "\xff\xd8\xff\xe0 cut"}}},
      {"text", "missing.txt", {}},
      {"text", "empty.txt", {{"empty.txt", ""}}},
      {"text", "short.txt", {{"short.txt", "too short"}}},
      {"text", "bytes.txt", {{"bytes.txt", std::string(500, '\xff')}}},
      {"cifar10", "missing", {}},
      {"cifar10",
       "c1",
       {{"c1/data_batch_1.bin", std::string(3000, '\1')}, {"c1/test_batch.bin", std::string(3073, '\1')}}},
  };
}

}  // namespace

TEST_CASE("data that is missing, empty, cut, something else or claims too much exits 3 and leaves no run behind") {
  const RunRoom room;
  const auto config = room.write("small.yaml", "device: {kind: cpu}\ntelemetry: {console: none}\n");
  for (const auto& c : cases()) {
    CAPTURE(c.kind, c.path);
    for (const auto& [name, contents] : c.files) room.write(name, contents);
    const auto path = (room.path / c.path).string();
    const bool tokens = std::string_view(c.kind) == "text";
    const Finished finished = run_program(train_command(
        config, room.run("run"),
        {std::string("data.kind=") + c.kind, "data.path=" + path, tokens ? "host.kind=transformer" : "host.kind=mlp"}));
    INFO(finished.out << finished.err);
    CHECK(finished.exit_code == 3);
    const auto error = nlohmann::json::parse(finished.out, nullptr, false)["error"];
    CHECK(error["code"] == "data");
    CHECK_THAT(error["text"].get<std::string>(), !ContainsSubstring("resume"));
    CHECK_THAT(error["text"].get<std::string>(), ContainsSubstring(path.substr(0, path.size() - 1)));
    CHECK_FALSE(fs::exists(room.run("run")));
  }
}

TEST_CASE("a kind of data that needs a path and has none is a configuration error") {
  const RunRoom room;
  const auto config = room.write("small.yaml", "data: {kind: mnist}\n");
  CHECK(train(config, room.run("run")).exit_code == 2);
  CHECK_FALSE(fs::exists(room.run("run")));
}

TEST_CASE("data of a single class are trained, and a warning names it, in a dry run, too") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += std::to_string(i) + ",1,cat\n";
  const Words changes = {"data.kind=csv",   "data.path=" + room.write("cats.csv", lines),
                         "data.shape=[2]",  "host.kind=mlp",
                         "host.hidden=[4]", "growth.enabled=false",
                         "epochs=1"};
  const std::string warning = "all training samples have one class, \"cat\"";
  const Finished planned = run_esper(Words{"train", "--config", config, "--dry-run"} + sets(changes));
  CHECK(planned.exit_code == 0);
  CHECK_THAT(planned.err, ContainsSubstring(warning));
  const Finished trained = train(config, room.run("run"), changes);
  CHECK(trained.exit_code == 0);
  CHECK_THAT(trained.err, ContainsSubstring(warning));
}

}  // namespace esper::test::bad_data_test
