#include "jobs/progress/telemetry_tail.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "base/file_system.h"
#include "run_telemetry.h"
#include "support/temporary_folder.h"

namespace esper::test::telemetry_tail_test {

using namespace esper;
using jobs::TelemetryTail;
using jobs::tests::append;

namespace {

struct Room {
  test::TemporaryFolder folder;
  std::string file = folder / "telemetry.jsonl";
  TelemetryTail tail;

  std::vector<std::string> look() {
    std::vector<std::string> lines;
    tail.look(runs::FolderReader(folder.path()), folder.path(),
              [&](std::string_view line) { lines.emplace_back(line); });
    return lines;
  }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("each look has the whole lines since the last one") {
  Room room;
  append(room.file, "one\ntwo\nthr");
  CHECK(room.look() == Lines{"one", "two"});
  CHECK(room.look().empty());
  append(room.file, "ee\nfour\n");
  CHECK(room.look() == Lines{"three", "four"});
  CHECK(room.look().empty());
}

TEST_CASE("a file that was continued in a new one is read on, with the end of the one before it") {
  Room room;
  append(room.file, "one\ntwo\n");
  CHECK(room.look() == Lines{"one", "two"});
  append(room.file, "three\n");
  std::filesystem::rename(room.file, room.folder / "telemetry-000001.jsonl");
  append(room.folder / "telemetry-000000.jsonl", "no number\n");
  append(room.file, "four\n");
  CHECK(room.look() == Lines{"one", "two", "three", "four"});
  append(room.file, "five\n");
  CHECK(room.look() == Lines{"five"});
}

TEST_CASE("a file that became shorter is read from its beginning") {
  Room room;
  append(room.file, "one\ntwo\n");
  room.look();
  std::filesystem::resize_file(room.file, 4);
  CHECK(room.look() == Lines{"one"});
}

TEST_CASE("of a long file the end is read, and no more than the limit at once") {
  Room room;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + std::string(90, 'x') + "\n";
  append(room.file, text);
  const auto first = room.look();
  REQUIRE(!first.empty());
  CHECK(first.size() < TelemetryTail::kMostBytes / 90);
  CHECK(first.front().starts_with(std::to_string(100'000 - first.size())));
  CHECK(first.back().starts_with("99999"));
  append(room.file, text + "end\n");
  const auto second = room.look();
  CHECK(second.size() < TelemetryTail::kMostBytes / 90);
  CHECK(second.back() == "end");
}

TEST_CASE("a line that is too long is skipped, wherever it ends") {
  Room room;
  append(room.file, "one\n" + std::string(TelemetryTail::kMostLineBytes + 1, 'x') + "\ntwo\n");
  CHECK(room.look() == Lines{"one", "two"});
  append(room.file, std::string(TelemetryTail::kMostBytes * 2, 'y'));
  CHECK(room.look().empty());
  append(room.file, "end of it\nthree\n");
  CHECK(room.look() == Lines{"three"});
}

TEST_CASE("links, folders and pipes are not read") {
  Room room;
  const auto elsewhere = room.folder / "secret";
  append(elsewhere, "secret\n");
  std::filesystem::create_symlink(elsewhere, room.file);
  CHECK_THROWS_AS(room.look(), base::IoError);
  std::filesystem::remove(room.file);
  std::filesystem::create_directory(room.file);
  CHECK_THROWS_AS(room.look(), base::IoError);
  std::filesystem::remove(room.file);
  append(room.file, "one\n");
  std::filesystem::create_symlink(elsewhere, room.folder / "telemetry-000001.jsonl");
  CHECK(room.look() == Lines{"one"});
}

}  // namespace esper::test::telemetry_tail_test
