#include "http/unix_address.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "support/temporary_folder.h"

namespace esper::test::unix_address_test {

using namespace esper;

TEST_CASE("short paths are used as they are, long ones through their folder") {
  const test::TemporaryFolder folder;
  CHECK(std::string(http::unix_address(folder / "s").value().address.sun_path) == folder / "s");
  const std::string deep = folder / std::string(200, 'd');
  std::filesystem::create_directory(deep);
  const auto address = http::unix_address(deep + "/s").value();
  CHECK(std::string(address.address.sun_path) == "/proc/self/fd/" + std::to_string(address.folder.number()) + "/s");
  CHECK(address.name == "s");
  CHECK(std::string(http::unix_address("s").value().address.sun_path) == "s");
}

TEST_CASE("paths that cannot be a socket's") {
  const test::TemporaryFolder folder;
  CHECK(!http::unix_address(""));
  CHECK(!http::unix_address(folder / ""));
  CHECK(!http::unix_address(folder / ".."));
  CHECK(!http::unix_address(folder / "none/s"));
  CHECK(!http::unix_address(folder / std::string("a\0b", 3)));
  CHECK(!http::unix_address(folder / std::string(120, 'n')));
}

}  // namespace esper::test::unix_address_test
