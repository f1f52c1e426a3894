#include "esper/queue/daemon_start.h"

#include <catch2/catch_test_macros.hpp>
#include <utility>

#include "base/descriptor.h"
#include "http/listening_socket.h"
#include "jobs/daemon/daemon.h"
#include "support/temporary_folder.h"

namespace esper::test::daemon_start_test {

namespace {

// Of a daemon that never answers.
base::Descriptor listening_in(const std::string& state_dir) {
  auto listening = http::listen_on_path(jobs::socket_of(state_dir));
  REQUIRE(listening);
  return std::move(*listening);
}

Answer failed(http::RequestStage stage) { return base::failure(http::RequestFailure{stage, "no answer"}); }

}  // namespace

TEST_CASE("a daemon that begins to listen after none was found is asked, and none is started") {
  const TemporaryFolder folder;
  base::Descriptor listening;
  int asked = 0;
  const auto answer = answer_or_start(folder.path(), [&]() -> Answer {
    if (++asked > 1) return http::Response{.body = "made"};
    listening = listening_in(folder.path());
    return failed(http::RequestStage::kNotSent);
  });
  REQUIRE(answer);
  CHECK(answer->body == "made");
  CHECK(asked == 2);
}

TEST_CASE("a daemon that took a request, gives no answer and goes on listening is not asked again") {
  const TemporaryFolder folder;
  const auto listening = listening_in(folder.path());
  int asked = 0;
  const auto answer = answer_or_start(folder.path(), [&] {
    ++asked;
    return failed(http::RequestStage::kNoAnswer);
  });
  CHECK_FALSE(answer);
  CHECK(asked == 1);
}

}  // namespace esper::test::daemon_start_test
