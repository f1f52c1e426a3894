#include "jobs/schedule/file_facts.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <fstream>
#include <memory>

#include "support/temporary_folder.h"

namespace esper::test::file_facts_test {

using namespace esper::jobs;
using namespace std::chrono_literals;

namespace {

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("what was read of a file is known from then on, and not read again") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write(path, "a,b,a\n");
  FileFacts files;
  CHECK(files.bytes_of(path) == 6);
  CHECK(files.characters_of(path) == 4);
  CHECK(files.commas_of(path) == 2);
  CHECK(files.bytes_of(folder.path()) == 6);
  write(path, "longer, with other characters\n");
  CHECK(files.bytes_of(path) == 6);
  CHECK(files.characters_of(path) == 4);
  CHECK(files.commas_of(path) == 2);
  CHECK(files.bytes_of(folder.path()) == 6);
  CHECK(FileFacts().bytes_of(path) == 30);
}

TEST_CASE("nothing is read when the time is over, which is counted; what is known stays known") {
  const TemporaryFolder folder;
  write(folder / "one", "1");
  write(folder / "two", "22");
  const auto time = std::make_shared<base::ManualTime>();
  FileFacts files(5s, base::Clock(time));
  CHECK(files.bytes_of(folder / "one") == 1);
  time->advance(5s);
  CHECK(files.bytes_of(folder / "one") == 1);
  CHECK(files.num_unread() == 0);
  CHECK(files.bytes_of(folder / "two") == 0);
  CHECK(files.characters_of(folder / "one") == 0);
  CHECK(files.num_unread() == 2);
}

TEST_CASE("what cannot be read counts nothing") {
  FileFacts files;
  CHECK(files.bytes_of("") == 0);
  CHECK(files.bytes_of("/nonexistent") == 0);
  CHECK(files.characters_of("/nonexistent") == 0);
  CHECK(files.commas_of("/dev/zero") == 0);
  CHECK(files.num_unread() == 0);
}

}  // namespace esper::test::file_facts_test
