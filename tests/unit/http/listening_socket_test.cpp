#include "http/listening_socket.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "http/client.h"
#include "http/server.h"
#include "running_server.h"
#include "support/patience.h"

namespace esper::test::listening_socket_test {

using namespace esper;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat facts{};
  REQUIRE(lstat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777;
}

}  // namespace

TEST_CASE("a socket file is its owner's alone, whatever the umask is, which stays as it was") {
  const test::TemporaryFolder folder;
  for (const mode_t mask : {0, 022, 0777}) {
    const mode_t before = umask(mask);
    const auto listening = http::listen_on_path(folder / std::to_string(mask));
    CHECK(umask(before) == mask);
    REQUIRE(listening);
    CHECK(mode_of(folder / std::to_string(mask)) == 0600);
    CHECK((fcntl(listening->number(), F_GETFD) & FD_CLOEXEC) != 0);
  }
}

TEST_CASE("a stale socket is replaced; one that is listened on, and what is no socket, stays") {
  const test::TemporaryFolder folder;
  const auto path = folder / "s";
  {
    REQUIRE(http::listen_on_path(path));
  }
  REQUIRE(std::filesystem::exists(path));
  const auto listening = http::listen_on_path(path);
  REQUIRE(listening);
  const auto second = http::listen_on_path(path);
  REQUIRE(!second);
  CHECK(second.error() == "another process listens on " + path);
  std::ofstream(folder / "file") << "text";
  const auto file = http::listen_on_path(folder / "file");
  REQUIRE(!file);
  CHECK(file.error() == (folder / "file") + " exists and is not a socket; remove it or choose another path");
  CHECK(std::filesystem::file_size(folder / "file") == 4);
  std::filesystem::create_symlink(path, folder / "link");
  CHECK(!http::listen_on_path(folder / "link"));
  CHECK(!http::listen_on_path(folder / "none/s"));
}

TEST_CASE("a socket file is removed unless it is another's by now") {
  const test::TemporaryFolder folder;
  const auto path = folder / "s";
  const auto listening = http::listen_on_path(path);
  REQUIRE(listening);
  const auto file = http::SocketFile::at(path).value();
  std::filesystem::rename(path, folder / "moved");
  std::ofstream(path) << "text";
  file.remove();
  CHECK(std::filesystem::exists(path));
  std::filesystem::rename(folder / "moved", path);
  file.remove();
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE("a server listens, and is asked, at a path of 1,000 characters") {
  const test::TemporaryFolder folder;
  std::string deep = folder.path();
  for (int i = 0; i < 5; ++i) deep += "/" + std::string(200, static_cast<char>('a' + i));
  std::filesystem::create_directories(deep);
  test::RunningServer server;
  server.on_loop([&](http::Server& s) { REQUIRE(s.listen_unix(deep + "/socket")); });
  CHECK(mode_of(deep + "/socket") == 0600);
  const auto response = http::request(http::UnixEndpoint{deep + "/socket"}, "GET", "/deep", {}, test::kPatience);
  REQUIRE(response);
  CHECK(response->body == "GET /deep ");
}

}  // namespace esper::test::listening_socket_test
