#include "history/black_box/black_box.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "base/error.h"
#include "base/fault.h"
#include "history/black_box/black_box_writer.h"
#include "storage/beneath.h"
#include "support/faults/mutated.h"
#include "support/files.h"
#include "support/temporary_folder.h"

namespace esper::test::black_box_test {

using namespace esper::history;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

void write_text(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

struct Run {
  TemporaryFolder folder;
  Run() { write_text(folder / "config.yaml", "name: a\n"); }
  std::string file() const { return folder / kBlackBoxFile; }
  BlackBox read() const { return read_black_box(folder.path()); }
  BlackBoxWriter open() const { return BlackBoxWriter(folder.path()); }
};

BlackBoxRecord step(std::int64_t number) {
  BlackBoxRecord record;
  record.kind = BlackBoxKind::kStep;
  record.flags = kHasFigures;
  record.step = number;
  record.epoch = 1;
  record.of_step.loss = 0.5 * static_cast<double>(number);
  record.of_step.microbatches = 1;
  return record;
}

void add_steps(BlackBoxWriter& writer, std::int64_t first, std::int64_t end) {
  for (std::int64_t i = first; i < end; ++i) writer.add(step(i));
}

std::vector<std::int64_t> steps_of(const BlackBox& box) {
  std::vector<std::int64_t> steps;
  for (const auto& record : box.records) steps.push_back(record.step);
  return steps;
}

std::vector<std::int64_t> range(std::int64_t first, std::int64_t end) {
  std::vector<std::int64_t> all;
  for (; first < end; ++first) all.push_back(first);
  return all;
}

storage::Bytes bytes_of(const std::string& text) { return storage::bytes_of(text); }

constexpr std::int64_t kCapacity = kBlackBoxCapacity;

// Where a step's record lies in the file.
std::size_t offset_of(std::int64_t number) { return (black_box_place(number) + 1) * sizeof(BlackBoxRecord); }

}  // namespace

TEST_CASE("records are read while their writer holds the file, in order and as they were") {
  const Run run;
  BlackBoxWriter writer = run.open();
  CHECK(writer.replaced().empty());
  CHECK(run.read().records.empty());
  add_steps(writer, 0, 3);
  writer.add(black_box_event("tolaria.step_skipped reason=batch.0.inputs is not finite"));
  const BlackBox box = run.read();
  REQUIRE(box.records.size() == 4);
  CHECK(box.torn == 0);
  CHECK(box.records[2].step == 2);
  CHECK(box.records[2].of_step.loss == 1.0);
  CHECK(box.records[2].process == static_cast<std::uint32_t>(getpid()));
  CHECK(box.records[3].text() == "tolaria.step_skipped reason=batch.0.inputs is not finite");
}

TEST_CASE("a full ring holds the newest records") {
  const Run run;
  BlackBoxWriter writer = run.open();
  add_steps(writer, 0, 3 * kCapacity + 7);
  const BlackBox box = run.read();
  CHECK(box.torn == 0);
  CHECK(steps_of(box) == range(2 * kCapacity + 7, 3 * kCapacity + 7));
}

TEST_CASE("a later process continues the ring") {
  const Run run;
  {
    BlackBoxWriter writer = run.open();
    add_steps(writer, 0, kCapacity + 3);
  }
  BlackBoxWriter writer = run.open();
  CHECK(writer.replaced().empty());
  add_steps(writer, kCapacity + 3, kCapacity + 5);
  CHECK(steps_of(run.read()) == range(5, kCapacity + 5));
}

TEST_CASE("a process that is killed while it writes loses at most the record that it was writing") {
  const Run run;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    BlackBoxWriter writer(run.folder.path());
    for (std::int64_t i = 0;; ++i) {
      writer.add(step(i));
      if (i == 10'000 && write(ready[1], "x", 1) != 1) _exit(1);
    }
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  kill(child, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  close(ready[0]);
  close(ready[1]);
  const auto steps = steps_of(run.read());
  CHECK(steps.size() >= kBlackBoxCapacity - 1);
  CHECK(steps.back() >= 10'000);
  CHECK(steps.back() - steps.front() + 1 <= kCapacity);
  CHECK(run.open().replaced().empty());
}

TEST_CASE("a torn record is left out and counted, and the ring goes on after it") {
  const Run run;
  {
    BlackBoxWriter writer = run.open();
    add_steps(writer, 0, 5);
  }
  std::string text = read_text(run.file());
  SECTION("cut off in the middle") { std::memset(text.data() + offset_of(5) + 100, 0x7f, 40); }
  SECTION("without its number") { std::memset(text.data() + offset_of(5), 0, 8); }
  SECTION("with the number of another round") { text[offset_of(5) + 1] = 2; }
  SECTION("in a wrong place") {
    std::memmove(text.data() + offset_of(5), text.data() + offset_of(4), sizeof(BlackBoxRecord));
  }
  write_text(run.file(), text);
  BlackBox box = run.read();
  CHECK(steps_of(box) == range(0, 4));
  CHECK(box.torn == 1);
  BlackBoxWriter writer = run.open();
  CHECK(writer.replaced().empty());
  add_steps(writer, 4, 6);
  box = run.read();
  CHECK(steps_of(box) == range(0, 6));
  CHECK(box.torn == 0);
}

TEST_CASE("a file that is no black box is replaced, and that is said") {
  const Run run;
  {
    BlackBoxWriter writer = run.open();
    add_steps(writer, 0, 5);
  }
  std::string text = read_text(run.file());
  std::string reason;
  SECTION("another version") {
    text[8] = 2;
    reason = "it is of version 2, not 1";
  }
  SECTION("another file") {
    text.replace(0, 8, "nonsense");
    reason = "it does not begin with ESPBBOX";
  }
  SECTION("another length") {
    text += "x";
    reason = "it had another size";
  }
  SECTION("another capacity") {
    text[16] = 9;
    reason = "its first bytes are damaged";
  }
  write_text(run.file(), text);
  CHECK_THROWS_AS(run.read(), base::Error);
  BlackBoxWriter writer = run.open();
  CHECK(writer.replaced() == reason);
  add_steps(writer, 7, 8);
  CHECK(steps_of(run.read()) == range(7, 8));
}

TEST_CASE("without space, or with a link in its place, there is no black box") {
  const Run run;
  SECTION("a full disk") {
    base::fault::arm("storage.map");
    CHECK_THROWS_AS(run.open(), base::IoError);
    CHECK(fs::file_size(run.file()) == 0);
    base::fault::disarm_all();
  }
  SECTION("a full disk, and a black box of an earlier process") {
    {
      BlackBoxWriter writer = run.open();
      add_steps(writer, 1, 3);
    }
    base::fault::arm("storage.map");
    CHECK_THROWS_AS(run.open(), base::IoError);
    base::fault::disarm_all();
    CHECK(steps_of(run.read()) == range(1, 3));
  }
  SECTION("a link") {
    write_text(run.folder / "elsewhere", "precious");
    fs::create_symlink(run.folder / "elsewhere", run.file());
    CHECK_THROWS_AS(run.open(), storage::UnsafePath);
    CHECK(read_text(run.folder / "elsewhere") == "precious");
  }
  SECTION("a folder") {
    fs::create_directory(run.file());
    CHECK_THROWS_AS(run.open(), base::IoError);
  }
}

TEST_CASE("a folder without a run or without a black box says what to do") {
  const TemporaryFolder empty;
  CHECK_THROWS_WITH(read_black_box(empty.path()), ContainsSubstring("is not a run folder"));
  const Run run;
  CHECK_THROWS_WITH(run.read(), ContainsSubstring("has no black box"));
  write_text(run.file(), "");  // there was no room to make one
  CHECK_THROWS_WITH(run.read(), ContainsSubstring("has no black box"));
  write_text(run.file(), "short");
  CHECK_THROWS_WITH(run.read(), ContainsSubstring("is not a black box: it is too short"));
  write_text(run.file(), std::string(kBlackBoxBytes + 1, 'x'));
  CHECK_THROWS_WITH(run.read(), ContainsSubstring("is not a black box: it is too long"));
}

TEST_CASE("figures that are not finite or not known are shown as such") {
  const Run run;
  BlackBoxWriter writer = run.open();
  BlackBoxRecord bad = step(0), unknown = step(1);
  bad.of_step.loss = std::numeric_limits<double>::quiet_NaN();
  unknown.flags = 0;
  writer.add(bad);
  writer.add(unknown);
  const auto json = black_box_json("run", run.read());
  CHECK(json["records"][0]["loss"] == "nan");
  CHECK(json["records"][1]["loss"].is_null());
  CHECK_THAT(black_box_text(run.read()), ContainsSubstring("nan"));
}

TEST_CASE("whatever the bytes, what is read is bounded, sound, and can be printed") {
  const Run run;
  {
    BlackBoxWriter writer = run.open();
    add_steps(writer, 0, kCapacity + 20);
    writer.add(black_box_event("an event\x1b[31m"));
  }
  const std::string sound = read_text(run.file());
  const std::vector<std::string_view> pieces = {"ESPBBOX\n", std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff", 8),
                                                std::string_view("\0\0\0\0", 4)};
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = mutated(sound, pieces, 4, random);
    auto box = parse_black_box(bytes_of(text));
    if (!box) continue;
    CHECK(box->records.size() <= kBlackBoxCapacity);
    CHECK(std::ranges::all_of(box->records, [](const auto& it) { return black_box_check(it) == it.check; }));
    if (i % 100 == 0) CHECK(black_box_text(*box).find('\x1b') == std::string::npos);
  }
}

}  // namespace esper::test::black_box_test
