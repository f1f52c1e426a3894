#include "base/memory_room.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "support/temporary_folder.h"

namespace esper::base::test::memory_room_test {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::int64_t kMega = 1 << 20;

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::string mega(std::int64_t count) { return std::to_string(count * kMega) + "\n"; }

// A machine with 1000 MiB available, and a process with 100 MiB mapped, 60 of them data.
struct Machine {
  esper::test::TemporaryFolder folder;
  std::filesystem::path proc = folder / "proc", cgroup = folder / "cgroup of a test";

  Machine() {
    write_file(proc / "meminfo", "MemTotal: 8000000 kB\nMemAvailable: " + std::to_string(1000 * 1024) + " kB\n");
    write_file(proc / "self/status",
               "VmSize: " + std::to_string(100 * 1024) + " kB\nVmData:\t" + std::to_string(60 * 1024) + " kB\n");
  }
  void mount(const std::string& root, const std::string& kind, const std::string& own) const {
    std::string escaped = cgroup;
    for (auto at = escaped.find(' '); at != escaped.npos; at = escaped.find(' ')) escaped.replace(at, 1, "\\040");
    write_file(proc / "self/mountinfo", "25 1 8:1 / / rw - ext4 /dev/sda rw\n35 32 0:32 " + root + " " + escaped +
                                            " rw,nosuid shared:5 - " + kind + "\n");
    write_file(proc / "self/cgroup", own);
  }
  void unified(const std::string& root, const std::string& own) const {
    mount(root, "cgroup2 cgroup rw", "0::" + own + "\n");
  }
  void group(const std::string& path, const std::string& max, const std::string& high, std::int64_t used,
             std::int64_t cached = 0) const {
    write_file(cgroup / path / "memory.max", max);
    write_file(cgroup / path / "memory.high", high);
    write_file(cgroup / path / "memory.current", mega(used));
    write_file(cgroup / path / "memory.stat", "anon 1\ninactive_file " + mega(cached) + "active_file 0\nslab 7\n");
  }
  MemoryRoom room(std::optional<std::int64_t> address_space = {}, std::optional<std::int64_t> data = {}) const {
    return memory_room({proc, address_space, data});
  }
};

TEST_CASE("memory: what the machine has available bounds it where nothing else does") {
  const Machine machine;
  CHECK(machine.room().bytes == 1000 * kMega);
  CHECK(whole_memory({machine.proc, {}, {}}).bytes == 8000000 * 1024LL);
  CHECK_THAT(machine.room().limit, ContainsSubstring("available memory"));
  CHECK(memory_room({machine.folder / "none", {}, {}}).limit == "no known limit");
}

TEST_CASE("memory: resource limits count what is mapped already") {
  const Machine machine;
  CHECK(machine.room(400 * kMega).bytes == 300 * kMega);
  CHECK_THAT(machine.room(400 * kMega).limit, ContainsSubstring("RLIMIT_AS (ulimit -v), 400 MiB"));
  CHECK(machine.room(400 * kMega, 200 * kMega).bytes == 140 * kMega);
  CHECK_THAT(machine.room(400 * kMega, 200 * kMega).limit, ContainsSubstring("RLIMIT_DATA"));
  CHECK(machine.room(50 * kMega).bytes == 0);
}

TEST_CASE("memory: the least of memory.max and memory.high from the own cgroup up to the mounted one") {
  const Machine machine;
  machine.unified("/", "/a/b/c");
  machine.group("a/b/c", "max\n", "max\n", 10);
  CHECK(machine.room().bytes == 1000 * kMega);
  machine.group("a/b/c", mega(700), "max\n", 100, 60);  // the page cache can be had back
  CHECK(machine.room().bytes == 660 * kMega);
  CHECK(machine.room().limit == "memory.max of cgroup /a/b/c, 700 MiB");
  machine.group("a/b", "max\n", mega(500), 100);
  CHECK(machine.room().bytes == 400 * kMega);
  CHECK(machine.room().limit == "memory.high of cgroup /a/b, 500 MiB");
  machine.group("a", mega(400), mega(900), 150);
  CHECK(machine.room().bytes == 250 * kMega);
  CHECK(machine.room().limit == "memory.max of cgroup /a, 400 MiB");
  machine.group("", mega(300), "max\n", 290);
  CHECK(machine.room().bytes == 10 * kMega);
  CHECK(machine.room().limit == "memory.max of cgroup /, 300 MiB");
  CHECK(whole_memory({machine.proc, {}, {}}).bytes == 300 * kMega);
  machine.group("a/other", mega(1), "max\n", 0);
  CHECK(machine.room().bytes == 10 * kMega);
}

TEST_CASE("memory: cgroups of version 1, and beside an empty version 2") {
  const Machine machine;
  machine.mount("/", "cgroup cgroup rw,memory", "12:cpu,cpuacct:/\n4:memory:/jobs/one\n0::/elsewhere\n");
  const auto group = [&](const std::string& path, std::int64_t limit) {
    write_file(machine.cgroup / path / "memory.limit_in_bytes", std::to_string(limit));
    write_file(machine.cgroup / path / "memory.usage_in_bytes", mega(100));
    write_file(machine.cgroup / path / "memory.stat",
               "inactive_file 5\ntotal_inactive_file " + mega(20) + "total_active_file " + mega(10));
  };
  group("jobs/one", 9223372036854771712);  // unlimited
  CHECK(machine.room().bytes == 1000 * kMega);
  group("jobs", 300 * kMega);
  CHECK(machine.room().bytes == 230 * kMega);
  CHECK(machine.room().limit == "memory.limit_in_bytes of cgroup /jobs, 300 MiB");
}

TEST_CASE("memory: a container sees its cgroup as the mounted one, with or without a namespace of its own") {
  const Machine machine;
  machine.group("", mega(200), "max\n", 50);
  for (const auto& [root, own] :
       {std::pair{"/docker/abc", "/docker/abc"}, std::pair{"/", "/"}, std::pair{"/docker/abc", "/"},
        std::pair{"/", "/docker/abc"}, std::pair{"/docker/abc", "/docker/abcd"}}) {
    CAPTURE(root, own);
    machine.unified(root, own);
    CHECK(machine.room().bytes == 150 * kMega);
  }
  machine.unified("/docker/abc", "/docker/abc/worker");
  machine.group("worker", mega(100), "max\n", 50);
  CHECK(machine.room().bytes == 50 * kMega);
  CHECK(machine.room().limit == "memory.max of cgroup /docker/abc/worker, 100 MiB");
}

TEST_CASE("memory: this machine's own figures are read") {
  const auto room = memory_room(system_memory());
  CHECK(room.bytes > kMega);
  CHECK(room.limit != "no known limit");
}

}  // namespace
}  // namespace esper::base::test::memory_room_test
