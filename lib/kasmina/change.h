#pragma once
// A change of a network that is rolled back unless it is committed: for a command that is executed in the network and
// may fail outside of it. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "kasmina/network/network_state.h"
#include "kasmina/slot/lifecycle_event.h"
#include "leyline/command.h"

namespace esper::kasmina {

// Network::open_change() makes one.
class Change {
 public:
  // Borrows both. is_open: set as long as the change is open.
  Change(NetworkState& network, bool& is_open);
  // Rolls back an open change. Used during stack unwinding, so a further device error is not reported.
  ~Change();
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  // As Network::apply(); several commands form one change.
  std::vector<LifecycleEvent> apply(const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                                    std::uint64_t now_ns = 0);
  // Keeps what was applied.
  void commit();
  // Restores the network: slots and owners, tensors by reference, and the host's values that a fold overwrote. Exact
  // only if the tensors' values were not modified since.
  void roll_back();

 private:
  void close();

  NetworkState& network_;
  bool& is_network_changing_;
  NetworkStructure before_;
  std::uint64_t structure_version_;
  TensorValues overwritten_;  // values of host tensors, oldest first
  bool is_open_ = true;
};

}  // namespace esper::kasmina
