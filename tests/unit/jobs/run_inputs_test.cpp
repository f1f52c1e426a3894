#include "jobs/schedule/run_inputs.h"

#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <fstream>
#include <memory>

#include "base/names.h"
#include "support/changed_field.h"
#include "support/temporary_folder.h"

namespace esper::test::run_inputs_test {

using namespace esper::jobs;
using namespace esper;
using config::DataKind;
using namespace std::chrono_literals;

namespace {

struct Room {
  test::TemporaryFolder folder;
  config::RunConfig config;

  config::DataConfig& data(DataKind kind, const std::string& path = "") {
    config.data = {};
    config.data.kind = kind;
    config.data.path = path;
    return config.data;
  }
  std::optional<leyline::SampleShape> sample() const { return run_inputs(config, folder.path()).sample; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder / name) << text; }
};

}  // namespace

TEST_CASE("samples that the run file itself shows") {
  Room room;
  CHECK(room.sample() == leyline::features_shape(64, 10));  // the bundled digits
  room.config.data.shape = {1, 8, 8};
  CHECK(room.sample() == leyline::image_shape(1, 8, 8, 10));
  room.data(DataKind::kSynthetic);
  CHECK(room.sample() == leyline::features_shape(16, 4));
  room.data(DataKind::kCifar10);
  CHECK(room.sample() == leyline::image_shape(3, 32, 32, 10));
  room.data(DataKind::kNpy);
  CHECK(!room.sample());
}

TEST_CASE("a text's vocabulary is counted, and relative paths begin at the job's folder") {
  Room room;
  room.data(DataKind::kText, "text.txt").context = 32;
  CHECK(!room.sample());
  room.write("text.txt", "abcab\xc3\xa4\xe2\x82\xac\xc3\xa4");
  CHECK(room.sample() == leyline::tokens_shape(32, 5));
  CHECK(run_inputs(room.config, room.folder.path()).data_bytes == 12);
}

TEST_CASE("columns of a file of numbers, and sizes of weights") {
  Room room;
  room.data(DataKind::kCsv, "data.csv");
  room.write("data.csv", "1,2,3,0\n4,5,6,1\n");
  CHECK(room.sample()->features == 3);
  room.config.host.kind = config::HostKind::kExported;
  room.config.host.path = ".";
  CHECK(run_inputs(room.config, room.folder.path()).host_bytes == 0);
  room.write("weights.safetensors", std::string(4000, 'x'));
  CHECK(run_inputs(room.config, room.folder.path()).host_bytes == 4000);
}

TEST_CASE("what is not read changes nothing in a run's inputs") {
  Room room;
  room.write("text.txt", "abcab");
  room.write("data.csv", "1,2,3,0\n4,5,6,1\n");
  room.write("weights.safetensors", std::string(4000, 'x'));
  config::RunConfig standard;
  for (const DataKind kind :
       {DataKind::kDigits, DataKind::kCsv, DataKind::kMnist, DataKind::kCifar10, DataKind::kImages, DataKind::kNpy,
        DataKind::kText, DataKind::kSynthetic, DataKind::kTable, DataKind::kTokens, DataKind::kProcess}) {
    room.data(kind, kind == DataKind::kText ? "text.txt" : "data.csv").validation_path = "text.txt";
    room.config.host.kind = config::HostKind::kExported;
    room.config.host.path = ".";
    const auto before = run_inputs(room.config, room.folder.path());
    CHECK(before.host_bytes == 4000);
    for (const auto& row : config::field_table(standard)) {
      if (row.is_section() || run_inputs_read(row.path)) continue;
      CAPTURE(base::name_of(kind), row.path);
      config::RunConfig config = room.config;
      const auto rows = config::field_table(config);
      if (!change_field(std::ranges::find(rows, row.path, &config::FieldRow::path)->value)) continue;
      CHECK(run_inputs(config, room.folder.path()) == before);
    }
  }
}

TEST_CASE("few fields decide what is read of a run's files") {
  for (const char* field : {"data.path", "data.context", "data.synthetic.classes", "host.path"}) {
    CAPTURE(field);
    CHECK(run_inputs_read(field));
  }
  for (const char* field :
       {"data.validation_fraction", "data.workers", "data.augment.flip", "data.augment.crop_padding", "data.batch_size",
        "data.synthetic.noise", "host.hidden", "epochs"}) {
    CAPTURE(field);
    CHECK_FALSE(run_inputs_read(field));
  }
}

TEST_CASE("inputs that would have to be read when the time is over are not known") {
  Room room;
  room.write("one.txt", "abc");
  room.write("two.txt", "abcd");
  const auto time = std::make_shared<base::ManualTime>();
  FileFacts files(1s, base::Clock(time));
  room.data(DataKind::kText, "one.txt");
  const auto known = run_inputs(room.config, room.folder.path(), files);
  REQUIRE(known);
  time->advance(1s);
  CHECK(run_inputs(room.config, room.folder.path(), files) == known);
  room.data(DataKind::kText, "two.txt");
  CHECK_FALSE(run_inputs(room.config, room.folder.path(), files));
}

TEST_CASE("a FIFO or a device in the place of a data file is not waited for, and not known") {
  Room room;
  REQUIRE(::mkfifo((room.folder / "pipe").c_str(), 0600) == 0);
  const std::string path = GENERATE("pipe", "/dev/zero");
  const DataKind kind = GENERATE(DataKind::kText, DataKind::kCsv, DataKind::kDigits);
  room.data(kind, path).context = 32;
  CHECK(!room.sample());
  CHECK(run_inputs(room.config, room.folder.path()).data_bytes == 0);
}

}  // namespace esper::test::run_inputs_test
