#include "base/text/text_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

namespace esper::test::text_file_test {

using namespace esper::base;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("esper_text_file_test_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

// Closed at the end, but for what a test closed itself.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() { REQUIRE(pipe(ends.data()) == 0); }
  ~Pipe() {
    for (const int end : ends) close(end);
  }
  std::string path() const { return "/dev/fd/" + std::to_string(ends[0]); }
  void send(const std::string& text) const {
    REQUIRE(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void finish() {
    close(ends[1]);
    ends[1] = -1;
  }
};

constexpr std::size_t kMost = 100;

}  // namespace

TEST_CASE("a file is read up to one byte beyond the limit") {
  const Folder folder;
  const std::string file = folder.path / "file";
  std::ofstream(file) << std::string(kMost + 5, 'a');
  CHECK(read_text_file(file, 2 * kMost, Streams::kRefused).value() == std::string(kMost + 5, 'a'));
  CHECK(read_text_file(file, kMost, Streams::kRefused).value().size() == kMost + 1);
}

TEST_CASE("a file is closed again, read or refused") {
  const Folder folder;
  const std::string file = folder.path / "file";
  std::ofstream(file) << "a";
  const auto lowest_free = [] {
    const int number = dup(0);
    close(number);
    return number;
  };
  const int before = lowest_free();
  CHECK(read_text_file(file, kMost, Streams::kRefused));
  CHECK_FALSE(read_text_file(folder.path, kMost, Streams::kRefused));
  CHECK(lowest_free() == before);
}

TEST_CASE("what is no regular file is refused at once, with the reason") {
  const Folder folder;
  const std::string fifo = folder.path / "pipe";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  for (const Streams streams : {Streams::kRefused, Streams::kOfThisProcess}) {
    CHECK(read_text_file(fifo, kMost, streams).error() == "is not a regular file");
    CHECK(read_text_file("/dev/zero", kMost, streams).error() == "is not a regular file");
    CHECK(read_text_file(folder.path, kMost, streams).error() == "is a folder");
    CHECK(read_text_file(folder.path / "none", kMost, streams).error() ==
          "cannot be opened: No such file or directory");
    CHECK(read_text_file(std::string("/etc/hosts\0.yaml", 16), kMost, streams).error() ==
          "cannot be opened: there is a NUL byte in its name");
  }
}

TEST_CASE("a pipe of this process is read to its end, where it is allowed") {
  Pipe pipe;
  pipe.send("epochs: 3\n");
  CHECK(read_text_file(pipe.path(), kMost, Streams::kRefused).error() == "is not a regular file");
  pipe.finish();
  const auto file = read_text_file(pipe.path(), kMost, Streams::kOfThisProcess);
  REQUIRE(file);
  CHECK(*file == "epochs: 3\n");
}

TEST_CASE("a pipe that does not end is given up at the deadline, one that has too much is not waited for") {
  const Pipe pipe;
  pipe.send("epochs: 3\n");
  const auto late = read_text_file(pipe.path(), kMost, Streams::kOfThisProcess, std::chrono::milliseconds(30));
  CHECK(late.error() == "did not end within 30ms; write it to a file first");
  pipe.send(std::string(2 * kMost, 'a'));
  CHECK(read_text_file(pipe.path(), kMost, Streams::kOfThisProcess).value().size() == kMost + 1);
}

}  // namespace esper::test::text_file_test
