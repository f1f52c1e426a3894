#include "history/telemetry/jsonl_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/descriptor.h"
#include "nissa/json_line.h"
#include "support/telemetry_file.h"
#include "support/temporary_folder.h"

namespace esper::test::jsonl_reader_test {

namespace fs = std::filesystem;

namespace {

std::string line_of(const std::string& id) {
  std::string line;
  nissa::append_json_line(packet_named(id), line);
  return line;
}

void append(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::app) << text; }

// Zeros that the disk does not have.
void append_hole(const fs::path& path, std::uintmax_t bytes) { fs::resize_file(path, fs::file_size(path) + bytes); }

bool begins_with_hole(const fs::path& path) {
  const base::Descriptor file(::open(path.c_str(), O_RDONLY));
  return ::lseek(file.number(), 0, SEEK_HOLE) == 0;
}

}  // namespace

TEST_CASE("a line that no packet has is skipped and reported, and so is one with a block of zeros") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  append(path, "\n\n" + line_of("a"));
  append(path, std::string((16 << 20) + 1, ' ') + "\n");
  append(path, line_of("b") + std::string(3 << 20, '\0') + line_of("lost") + line_of("c") + R"({"torn)");
  const auto read = read_telemetry(path);
  CHECK(read.ids == PacketIds{"a", "b", "c"});
  CHECK(read.report.damaged_total == 3);
  REQUIRE(read.report.damaged.size() == 3);
  CHECK(read.report.damaged[0].line == 4);
  CHECK(read.report.damaged[0].reason == "longer than 16 MiB");
  CHECK(read.report.damaged[1].line == 6);
  CHECK(read.report.damaged[1].reason == "holds a block of zeros");
  CHECK(read.report.damaged[2].reason == "the file ends within this line");
}

TEST_CASE("a file of zeros that the disk does not have costs no time, and what follows them is read") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  append(path, "");
  append_hole(path, 64ull << 30);  // to read them would take minutes
  if (!begins_with_hole(path)) SKIP("this file system does not say where a file has holes");
  const auto begin = std::chrono::steady_clock::now();
  const auto zeros = read_telemetry(path);
  CHECK(zeros.ids.empty());
  CHECK(zeros.report.damaged_total == 1);
  append(path, "\n" + line_of("a"));
  append_hole(path, 64ull << 30);
  append(path, "\n" + line_of("b"));
  const auto read = read_telemetry(path);
  CHECK(read.ids == PacketIds{"a", "b"});
  CHECK(read.report.damaged_total == 2);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

}  // namespace esper::test::jsonl_reader_test
