#include "tamiyo/process/restart_backoff.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::tamiyo::restart_backoff_test {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_CASE("a lost process is started again at once, then later and later, at most after a minute") {
  RestartBackoff backoff;
  const base::Duration now = seconds(5);
  for (const auto pause : {milliseconds(0), milliseconds(100), milliseconds(200), milliseconds(400)}) {
    record_loss(backoff, now);
    CHECK(backoff.not_before - now == pause);
  }
  for (int loss = 0; loss < 100; ++loss) record_loss(backoff, now);
  CHECK(backoff.not_before - now == minutes(1));
  CHECK(backoff.losses == 104);
  record_answer(backoff);
  record_loss(backoff, now);
  CHECK(backoff.not_before == now);
}

}  // namespace esper::tamiyo::restart_backoff_test
