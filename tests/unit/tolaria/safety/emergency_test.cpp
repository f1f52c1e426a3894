#include "tolaria/safety/emergency.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstring>

#include "base/descriptor.h"
#include "support/memory_sink.h"

namespace esper::test::emergency_test {

using namespace esper::tolaria;

namespace {

std::string name_of(const char* what) { return std::string("esper-test-") + what + "-" + std::to_string(getpid()); }

// As another process reads it; empty: there is none.
std::string shared_bytes(const std::string& name) {
  const base::Descriptor file(shm_open(("/" + name).c_str(), O_RDONLY, 0));
  if (!file.is_open()) return {};
  std::string bytes(256, 'x');
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, pread(file.number(), bytes.data(), bytes.size(), 0))));
  return bytes;
}

struct Room {
  RunProgress progress;
  base::Ledger ledger;
  MemorySink sink;
  Outbox outbox{"run", base::Clock(), progress, ledger, sink};

  std::vector<std::string> levels(const char* name) const {
    std::vector<std::string> found;
    for (const auto& event : outbox.waiting()) {
      if (event.description == name) found.push_back(event.attributes.at("level"));
    }
    return found;
  }
};

std::uint64_t now_ms() {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(base::Clock().now());
  return static_cast<std::uint64_t>(now.count());
}

}  // namespace

TEST_CASE("an emergency rises only, is told once a level, and a good epoch ends it") {
  Room room;
  Emergency emergency({}, base::Clock(), room.outbox);
  emergency.raise(EmergencyLevel::kNotice, 0, "slow");
  emergency.fail_epoch(1, "not finite");
  emergency.raise(EmergencyLevel::kNotice, 0, "slow");
  emergency.fail_epoch(2, "not finite");
  CHECK(room.levels("tolaria.emergency.escalated") == std::vector<std::string>{"1", "2"});
  CHECK(emergency.reason() == "not finite");
  emergency.end_good_epoch();
  CHECK(emergency.reason().empty());
  emergency.raise(EmergencyLevel::kNotice, 0, "slow");
  emergency.fail_epoch(900, "not finite");  // no limit is set
  CHECK(room.levels("tolaria.emergency.escalated") == std::vector<std::string>{"1", "2", "1", "2"});
  CHECK_FALSE(emergency.is_halted());
}

TEST_CASE("failed epochs in a row halt a run that says so, and nothing ends that") {
  Room room;
  config::EmergencyConfig config;
  config.failed_epochs = 3;
  Emergency emergency(config, base::Clock(), room.outbox);
  emergency.fail_epoch(2, "not finite");
  CHECK_FALSE(emergency.is_halted());
  emergency.fail_epoch(3, "not finite");
  CHECK(emergency.is_halted());
  CHECK(room.levels("tolaria.emergency.halt") == std::vector<std::string>{"4"});
  CHECK(emergency.figures().halts == 1);
  emergency.end_good_epoch();
  CHECK(emergency.is_halted());
}

TEST_CASE("a late rollback raises the level, and halts where the run file says so") {
  for (const bool halts : {false, true}) {
    Room room;
    config::EmergencyConfig config;
    config.halt_on_late_rollback = halts;
    Emergency emergency(config, base::Clock(), room.outbox);
    emergency.late_rollback(300, 1);
    CHECK(emergency.is_halted() == halts);
    CHECK(room.levels("tolaria.emergency.escalated").size() == 1);
  }
}

TEST_CASE("other processes see the level, its time and its reason; it goes with a run that ends without a failure") {
  Room room;
  config::EmergencyConfig config;
  config.signal_name = name_of("emergency");
  config.rollback_signal_name = name_of("rollback");
  {
    Emergency emergency(config, base::Clock(), room.outbox);
    CHECK(shared_bytes(config.signal_name) == std::string(64, '\0'));
    // 52 bytes, then a character of two that does not fit.
    emergency.fail_epoch(1, std::string(52, 'a') + "\xc3\xa4 and more");
    const std::string seen = shared_bytes(config.signal_name);
    REQUIRE(seen.size() == 64);
    CHECK(seen[0] == 1);
    CHECK(seen[1] == 2);
    std::uint64_t ms = 0;
    std::memcpy(&ms, seen.data() + 2, sizeof ms);
    CHECK(ms <= now_ms());
    CHECK(ms + 60'000 > now_ms());
    CHECK(seen[10] == 52);
    CHECK(seen.substr(11) == std::string(52, 'a') + '\0');

    emergency.late_rollback(300, 1);
    const std::string late = shared_bytes(config.rollback_signal_name);
    REQUIRE(late.size() == 16);
    CHECK(late[0] == 1);
    std::memcpy(&ms, late.data() + 8, sizeof ms);
    CHECK(ms <= now_ms());
    emergency.end_good_epoch();
    CHECK(shared_bytes(config.signal_name) == std::string(64, '\0'));
  }
  CHECK(shared_bytes(config.signal_name).empty());
  {
    Emergency emergency(config, base::Clock(), room.outbox);
    emergency.fail_epoch(1, "left for others to see");
  }
  CHECK(shared_bytes(config.signal_name).substr(11, 4) == "left");
  {
    Emergency next(config, base::Clock(), room.outbox);
  }
  CHECK(shared_bytes(config.signal_name).empty());
}

TEST_CASE("what another program or run uses is left alone") {
  Room room;
  config::EmergencyConfig config;
  config.signal_name = name_of("foreign");
  {
    const base::Descriptor file(shm_open(("/" + config.signal_name).c_str(), O_CREAT | O_RDWR, 0600));
    REQUIRE(pwrite(file.number(), "abcdef", 6, 0) == 6);
    const Emergency emergency(config, base::Clock(), room.outbox);
    CHECK(room.outbox.waiting().size() == 1);
  }
  CHECK(shared_bytes(config.signal_name) == "abcdef");
  shm_unlink(("/" + config.signal_name).c_str());
  const Emergency first(config, base::Clock(), room.outbox);
  {
    const Emergency second(config, base::Clock(), room.outbox);
    CHECK(room.outbox.waiting().size() == 2);
  }
  CHECK(shared_bytes(config.signal_name).size() == 64);
}

TEST_CASE("a name that cannot be used is a warning, and the run goes on without it") {
  Room room;
  config::EmergencyConfig config;
  config.signal_name = std::string(300, 'n');
  Emergency emergency(config, base::Clock(), room.outbox);
  REQUIRE(room.outbox.waiting().size() == 1);
  CHECK(room.outbox.waiting()[0].description == "tolaria.signal_failed");
  emergency.fail_epoch(1, "not finite");
}

}  // namespace esper::test::emergency_test
