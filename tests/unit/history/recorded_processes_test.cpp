#include "history/ledger/recorded_processes.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::recorded_processes_test {

using history::RecordedProcesses;
using Gaps = std::vector<std::string>;

TEST_CASE("of each process that did not end the run the time after its last epoch is missing") {
  RecordedProcesses processes;
  processes.begin();
  processes.begin();
  processes.end_epoch("3");
  processes.begin();
  processes.finish_run();
  processes.begin();
  processes.end();
  CHECK(processes.count() == 4);
  CHECK(processes.gaps() == Gaps{"process 1 was killed: the time after its start is missing",
                                 "process 2 was killed: the time after epoch 3 is missing",
                                 "process 4 is still running or was killed: the time after epoch 3 is missing"});
}

TEST_CASE("a process that goes back to a checkpoint is no second one, but what it dropped stays missing") {
  RecordedProcesses processes;
  processes.begin();
  processes.begin();
  processes.set_dropped(5);
  processes.begin();
  processes.restore_checkpoint();
  processes.restore_checkpoint();  // another one, for which nothing had begun: of a damaged file
  CHECK(processes.count() == 1);
  CHECK(processes.gaps() == Gaps{"process 1 was killed: the time after its start is missing",
                                 "process 2 dropped 5 packets; their time is missing"});
  processes.restore_checkpoint();
  CHECK(processes.count() == 1);
}

TEST_CASE("nothing is missing of a process that summary.json has the account of") {
  RecordedProcesses processes;
  processes.begin();
  processes.set_dropped(5);
  processes.set_account(RecordedProcesses::Account::kSummary);
  processes.begin();
  processes.set_account(RecordedProcesses::Account::kPackets);
  processes.finish_run();
  processes.end();
  CHECK(processes.gaps().empty());
}

TEST_CASE("each process counts late decisions from 0") {
  RecordedProcesses processes;
  processes.begin();
  processes.set_policy_timeouts(2);
  processes.set_policy_timeouts(3);
  processes.begin();
  processes.set_policy_timeouts(4);
  processes.end();
  CHECK(processes.policy_timeouts() == 7);
}

TEST_CASE("a process whose first packet is lost is known by its epochs") {
  RecordedProcesses processes;
  processes.end();
  CHECK(processes.count() == 0);
  CHECK(processes.gaps().empty());
  processes.end_epoch("1");
  CHECK(processes.count() == 1);
  processes.end_epoch("2");
  CHECK(processes.count() == 1);
}

}  // namespace esper::test::recorded_processes_test
