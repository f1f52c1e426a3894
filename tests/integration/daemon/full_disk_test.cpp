// A full disk: what cannot be written is refused, nothing that was acknowledged is lost, and the daemon goes on by
// itself when there is room.
#include <fmt/core.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <fstream>
#include <thread>

#include "stub_daemon.h"

namespace esper::test::full_disk_test {

using namespace esper::test;
using namespace std::chrono_literals;

namespace {

constexpr int kNoRoom = 507;

class LittleRoom {
 public:
  virtual ~LittleRoom() = default;
  virtual void fill(StubDaemon& daemon) = 0;
  virtual void empty(StubDaemon& daemon) = 0;
};

// A file system of one megabyte for the daemon's folder.
class SmallDisk : public LittleRoom {
 public:
  explicit SmallDisk(const StubDaemon& daemon) : folder_(daemon.options.state_dir) {
    std::filesystem::create_directories(folder_);
    is_mounted_ = ::mount("none", folder_.c_str(), "tmpfs", 0, "size=1m,mode=0700") == 0;
  }
  ~SmallDisk() override {
    if (is_mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  bool is_mounted() const { return is_mounted_; }
  void fill(StubDaemon&) override {
    std::ofstream filler(folder_ + "/filler", std::ios::binary);
    for (int kilobyte = 0; kilobyte < 2048; ++kilobyte) filler << std::string(1024, 'x') << std::flush;
  }
  void empty(StubDaemon&) override { std::filesystem::remove(folder_ + "/filler"); }

 private:
  std::string folder_;
  bool is_mounted_ = false;
};

// No file may be longer than some kilobytes: its log, to which the database writes, is.
class ShortFiles : public LittleRoom {
 public:
  void fill(StubDaemon& daemon) override { limit(daemon.process(), 4096); }
  void empty(StubDaemon& daemon) override { limit(daemon.process(), RLIM_INFINITY); }

 private:
  static void limit(pid_t process, rlim_t bytes) {
    const rlimit wanted{bytes, RLIM_INFINITY};
    REQUIRE(::prlimit(process, RLIMIT_FSIZE, &wanted, nullptr) == 0);
  }
};

// A job that ends while there is no room, submissions that are refused, and room again.
void fill_and_empty(StubDaemon& daemon, LittleRoom& disk) {
  daemon.start();
  const StubJob failing{"failing", 3, 3}, waiting{"waiting"};
  const int ending = daemon.submit(failing);
  daemon.wait_for_begin(failing);
  REQUIRE(daemon.wait_for_state(ending, "running"));
  const int held = daemon.submit(waiting, {{"hold", true}});
  disk.fill(daemon);
  int accepted = 0;
  auto response = daemon.ask("POST", "/v1/jobs", daemon.submission({"more", 0.01}));
  for (; response && response->status == 201 && accepted < 1000; ++accepted)
    response = daemon.ask("POST", "/v1/jobs", daemon.submission({"more", 0.01}));
  REQUIRE(response);
  CAPTURE(accepted, response->body);
  REQUIRE(response->status == kNoRoom);
  CHECK(response->body.find("error") != std::string::npos);
  CHECK(daemon.ask("POST", fmt::format("/v1/jobs/{}/resume", held))->status == kNoRoom);
  CHECK(daemon.job(held)["state"] == "held");
  REQUIRE(comes_true([&] { return daemon.ends(failing) == 1; }));
  std::this_thread::sleep_for(300ms);
  CHECK(daemon.job(ending)["state"] == "running");  // its end is not written yet
  CHECK(daemon.ask("GET", "/v1/daemon")->status == 200);
  disk.empty(daemon);
  REQUIRE(daemon.wait_for_state(ending, "failed"));
  CHECK(daemon.job(ending)["exit_code"] == 3);
  CHECK(daemon.begins(failing) == 1);
  REQUIRE(daemon.ask("POST", fmt::format("/v1/jobs/{}/resume", held))->status == 200);
  CHECK(daemon.wait_for_state(held, "succeeded"));
  for (int id = held + 1; id <= held + accepted; ++id) {
    CAPTURE(id);
    CHECK(daemon.wait_for_state(id, "succeeded"));
  }
}

}  // namespace

TEST_CASE("on a full disk submissions are refused, ends are kept, and all goes on when there is room") {
  StubDaemon daemon;
  SmallDisk disk(daemon);
  if (!disk.is_mounted()) SKIP("only root can make a small file system");
  fill_and_empty(daemon, disk);
  daemon.kill();
}

TEST_CASE("a limit of the length of files is as a full disk") {
  StubDaemon daemon;
  ShortFiles files;
  fill_and_empty(daemon, files);
}

TEST_CASE("a daemon that is killed on a full disk finds what ended meanwhile when there is room") {
  StubDaemon daemon;
  SmallDisk disk(daemon);
  if (!disk.is_mounted()) SKIP("only root can make a small file system");
  daemon.start();
  const StubJob failing{"failing", 2, 3};
  const int job = daemon.submit(failing);
  daemon.wait_for_begin(failing);
  REQUIRE(daemon.wait_for_state(job, "running"));
  disk.fill(daemon);
  daemon.kill();
  REQUIRE(comes_true([&] { return daemon.ends(failing) == 1; }));
  disk.empty(daemon);
  daemon.start();
  REQUIRE(daemon.wait_for_state(job, "failed"));
  CHECK(daemon.job(job)["exit_code"] == 3);
  CHECK(daemon.begins(failing) == 1);
  daemon.kill();
}

}  // namespace esper::test::full_disk_test
