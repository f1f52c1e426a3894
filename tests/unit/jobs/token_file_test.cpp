#include "jobs/daemon/token_file.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/file_system.h"
#include "support/temporary_folder.h"

namespace esper::test::token_file_test {

using namespace esper;
using jobs::token_of;

namespace {

struct TokenRoom {
  test::TemporaryFolder folder;
  std::string path = folder / "token";

  void write(const std::string& text, mode_t mode) const {
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
  }
  base::ExitCode refusal() const {
    try {
      token_of(path);
    } catch (const base::Error& error) {
      CHECK(std::string(error.what()).find(path) != std::string::npos);
      return error.code();
    }
    return base::ExitCode::kDone;
  }
};

}  // namespace

TEST_CASE("a missing token is made once, for this user alone") {
  const TokenRoom room;
  const auto umask_before = ::umask(0);
  const std::string token = token_of(room.path);
  ::umask(umask_before);
  CHECK(token.size() == 64);
  CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(token_of(room.path) == token);
  struct stat facts{};
  REQUIRE(::stat(room.path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  CHECK(facts.st_nlink == 1);
  CHECK(std::distance(std::filesystem::directory_iterator(room.folder.path()), {}) == 1);
}

TEST_CASE("two tokens differ") {
  const TokenRoom one, other;
  CHECK(token_of(one.path) != token_of(other.path));
}

TEST_CASE("a token of the user's own is taken") {
  const TokenRoom room;
  room.write("my-own-token-0123456789\n", 0600);
  CHECK(token_of(room.path) == "my-own-token-0123456789");
}

TEST_CASE("a token that others may read, or that is none, is refused") {
  const TokenRoom room;
  room.write("my-own-token-0123456789\n", 0640);
  CHECK(room.refusal() == base::ExitCode::kConfig);
  for (const char* text : {"", "short\n", "two lines-of-a-token\nand more\n", "with a blank in its middle\n"}) {
    room.write(text, 0600);
    CHECK(room.refusal() == base::ExitCode::kConfig);
  }
}

TEST_CASE("a token behind a link is refused") {
  const TokenRoom room;
  const std::string elsewhere = room.folder / "elsewhere";
  std::ofstream(elsewhere) << "my-own-token-0123456789\n";
  std::filesystem::create_symlink(elsewhere, room.path);
  CHECK(room.refusal() != base::ExitCode::kDone);
}

}  // namespace esper::test::token_file_test
