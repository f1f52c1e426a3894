#include "storage/beneath.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <functional>

#include "storage/bytes.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"
#include "support/files.h"
#include "support/temporary_folder.h"
#include "support/umask.h"

namespace esper::test::beneath_test {

using namespace esper::storage;
using Catch::Matchers::ContainsSubstring;
using esper::base::IoError;
using esper::base::OpenMode;
using esper::base::PathKind;
using esper::test::mode_of;
using esper::test::read_text;
using esper::test::TemporaryFolder;
using esper::test::Umask;
namespace fs = std::filesystem;

namespace {

// Why the action is refused; empty if it is not. Other errors pass through.
std::string refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UnsafePath& error) {
    CHECK(error.code() == esper::base::ExitCode::kConfig);
    return error.what();
  }
  return {};
}

// A folder to confine to, and a file and a folder beside it that nobody may touch from there.
struct Room {
  TemporaryFolder folder;
  std::string root = folder / "root";
  std::string victim = folder / "victim", victims = folder / "victims";

  Room() {
    fs::create_directories(root);
    fs::create_directories(victims + "/inner");
    std::ofstream(victim) << "precious";
    std::ofstream(victims + "/file") << "precious";
  }
  bool is_unharmed() const {
    return read_text(victim) == "precious" && read_text(victims + "/file") == "precious" &&
           fs::exists(victims + "/inner") && std::distance(fs::directory_iterator(victims), {}) == 2;
  }
};

}  // namespace

TEST_CASE("a confined file system works as any other") {
  const Room room;
  ConfinedFileSystem files(room.root + "/", GENERATE(Owner::kAnyone, Owner::kThisUser));
  const std::string inner = room.root + "/a/b";
  ensure_folder(files, inner);
  files.open(inner + "/file", OpenMode::kReplace).write(bytes_of("hello"));
  files.open(inner + "/file", OpenMode::kAppend).write(bytes_of(" world"));
  CHECK(text_of(read_file(files, inner + "//file", 100)) == "hello world");
  files.open(inner + "/file", OpenMode::kReplace);
  CHECK(read_file(files, inner + "/file", 100).empty());
  CHECK(files.kind_of(inner) == PathKind::kFolder);
  CHECK(files.kind_of(room.root) == PathKind::kFolder);
  CHECK(files.kind_of(inner + "/none") == PathKind::kNothing);
  CHECK(files.kind_of(inner + "/none/below") == PathKind::kNothing);
  CHECK(files.kind_of(inner + "/file/below") == PathKind::kNothing);
  files.rename(inner + "/file", room.root + "/moved");
  CHECK_THROWS_AS(files.make_folder(inner), IoError);
  CHECK(files.list(room.root).size() == 2);
  files.sync_folder(inner);
  CHECK(files.free_bytes(inner) > 0);
  {
    const auto held = files.try_lock(room.root + "/lock");
    REQUIRE(held);
    CHECK_FALSE(files.try_lock(room.root + "/lock"));
  }
  CHECK(files.try_lock(room.root + "/lock"));
  remove_all(files, room.root + "/a");
  CHECK(files.kind_of(room.root + "/a") == PathKind::kNothing);
  CHECK_THROWS_AS(files.open(room.root + "/none", OpenMode::kRead), IoError);
}

TEST_CASE("no operation follows a link, whichever part of the path it is") {
  const Room room;
  ConfinedFileSystem files(room.root, Owner::kAnyone);
  REQUIRE(::symlink(room.victim.c_str(), (room.root + "/link").c_str()) == 0);
  REQUIRE(::symlink((room.folder / "new").c_str(), (room.root + "/dangling").c_str()) == 0);
  REQUIRE(::symlink(room.victims.c_str(), (room.root + "/folder").c_str()) == 0);
  const auto refused = [&](const std::string& name, const std::function<void(const std::string&)>& action) {
    CAPTURE(name);
    const auto text = refusal_of([&] { action(room.root + name); });
    CHECK_THAT(text, ContainsSubstring(room.root + "/") && ContainsSubstring("symbolic link") &&
                         ContainsSubstring("remove it"));
  };
  for (const char* name : {"/link", "/dangling", "/folder", "/folder/file", "/folder/new"}) {
    refused(name, [&](const std::string& path) { files.open(path, OpenMode::kRead); });
    refused(name, [&](const std::string& path) { files.open(path, OpenMode::kReplace); });
    refused(name, [&](const std::string& path) { files.open(path, OpenMode::kAppend); });
    refused(name, [&](const std::string& path) { files.try_lock(path); });
    refused(name, [&](const std::string& path) { files.kind_of(path); });
    refused(name, [&](const std::string& path) { files.make_folder(path); });
    refused(name, [&](const std::string& path) { ensure_folder(files, path); });
  }
  refused("/folder/file", [&](const std::string& path) { files.remove(path); });
  refused("/folder/file", [&](const std::string& path) { files.rename(path, room.root + "/mine"); });
  refused("/folder", [&](const std::string& path) { files.list(path); });
  refused("/folder", [&](const std::string& path) { files.sync_folder(path); });
  for (const char* name : {"/link", "/dangling", "/folder"}) remove_all(files, room.root + name);
  CHECK(fs::is_empty(room.root));
  CHECK_FALSE(fs::exists(room.folder / "new"));
  CHECK(room.is_unharmed());
  CHECK_FALSE(refusal_of([&] { files.open(room.root + "/../victim", OpenMode::kReplace); }).empty());
  CHECK_FALSE(refusal_of([&] { files.list(room.root + "/.."); }).empty());
  CHECK(room.is_unharmed());
}

TEST_CASE("the way out says what is wanted in that place") {
  const Room room;
  ConfinedFileSystem files(room.root, Owner::kAnyone);
  REQUIRE(::symlink(room.victims.c_str(), (room.root + "/link").c_str()) == 0);
  fs::create_directory(room.root + "/sub");
  const auto reading = [&](const std::string& name) {
    return refusal_of([&] { files.open(room.root + name, OpenMode::kRead); });
  };
  CHECK_THAT(reading("/link/file"), ContainsSubstring("put a folder of this user"));
  CHECK_THAT(reading("/link"), ContainsSubstring("put a regular file of this user"));
  CHECK_THAT(refusal_of([&] { files.kind_of(room.root + "/link"); }), ContainsSubstring("a regular file or folder of"));
  const std::string is_folder =
      room.root + "/sub cannot be used: it is a folder, not a regular file; move or remove it";
  CHECK_THAT(reading("/sub"), ContainsSubstring(is_folder));
  CHECK_THAT(refusal_of([&] { files.try_lock(room.root + "/sub"); }), ContainsSubstring(is_folder));
}

TEST_CASE("the folder itself may be a link: its name is the user's word") {
  const Room room;
  REQUIRE(::symlink(room.root.c_str(), (room.folder / "latest").c_str()) == 0);
  ConfinedFileSystem files(room.folder / "latest", Owner::kAnyone);
  files.open(room.folder / "latest/file", OpenMode::kReplace).write(bytes_of("x"));
  CHECK(read_text(room.root + "/file") == "x");
}

TEST_CASE("pipes, sockets and devices are refused, and nothing waits for them") {
  const Room room;
  ConfinedFileSystem files(room.root, Owner::kAnyone);
  const std::string pipe = room.root + "/pipe", socket_path = room.root + "/socket", device = room.root + "/device";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const esper::base::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  std::vector<std::string> paths = {pipe, socket_path};
  if (::mknod(device.c_str(), S_IFCHR | 0600, 0x103) == 0) paths.push_back(device);  // root's right
  for (const auto& path : paths) {
    CAPTURE(path);
    for (const auto mode : {OpenMode::kRead, OpenMode::kReplace, OpenMode::kAppend}) {
      CHECK_THAT(refusal_of([&] { files.open(path, mode); }), ContainsSubstring("not a regular file"));
    }
    CHECK_THAT(refusal_of([&] { files.try_lock(path); }), ContainsSubstring("not a regular file"));
  }
}

TEST_CASE("a file with several names is read, and not written to") {
  const Room room;
  ConfinedFileSystem files(room.root, Owner::kAnyone);
  REQUIRE(::link(room.victim.c_str(), (room.root + "/file").c_str()) == 0);
  CHECK(text_of(read_file(files, room.root + "/file", 100)) == "precious");
  for (const auto mode : {OpenMode::kReplace, OpenMode::kAppend}) {
    CHECK_THAT(refusal_of([&] { files.open(room.root + "/file", mode); }), ContainsSubstring("several names"));
  }
  CHECK_THAT(refusal_of([&] { files.try_lock(room.root + "/file"); }), ContainsSubstring("several names"));
  CHECK(room.is_unharmed());
}

TEST_CASE("where files are to be this user's alone, any other is refused at every level") {
  const Room room;
  ConfinedFileSystem files(room.root, Owner::kThisUser);
  ensure_folder(files, room.root + "/sub");
  const std::string sub = room.root + "/sub", file = sub + "/file";
  files.open(file, OpenMode::kReplace).write(bytes_of("x"));
  const auto reading = [&] { return refusal_of([&] { read_file(files, file, 100); }); };
  REQUIRE(reading().empty());
  for (const auto& path : {sub, file}) {
    const mode_t good = mode_of(path);
    ::chmod(path.c_str(), good | S_IWGRP);
    CHECK_THAT(reading(), ContainsSubstring(path + " ") && ContainsSubstring("a group can write") &&
                              ContainsSubstring("--cache-dir"));
    ::chmod(path.c_str(), good | S_IWOTH);
    CHECK_THAT(reading(), ContainsSubstring("others can write"));
    ::chmod(path.c_str(), good);
  }
  REQUIRE(::link(file.c_str(), (sub + "/second").c_str()) == 0);
  CHECK_THAT(reading(), ContainsSubstring("several names"));
  ::unlink((sub + "/second").c_str());
  REQUIRE(reading().empty());
  if (::geteuid() != 0) SKIP("only root can give a file away");
  for (const auto& path : {file, sub}) {
    REQUIRE(::chown(path.c_str(), 12345, 12345) == 0);
    CHECK_THAT(reading(), ContainsSubstring("another user"));
    REQUIRE(::chown(path.c_str(), 0, 0) == 0);
  }
}

TEST_CASE("what is made for this user alone has that mode under any umask") {
  const Room room;
  for (const mode_t mask : {0000, 0022, 0277, 0777}) {
    const Umask umask(mask);
    ConfinedFileSystem files(room.root, Owner::kThisUser);
    const std::string sub = room.root + "/" + std::to_string(mask);
    files.make_folder(sub);
    files.open(sub + "/file", OpenMode::kReplace).write(bytes_of("x"));
    CHECK(mode_of(sub) == 0700);
    CHECK(mode_of(sub + "/file") == 0600);
    CHECK(files.try_lock(sub + "/lock"));
    CHECK(mode_of(sub + "/lock") == 0600);
  }
}

}  // namespace esper::test::beneath_test
