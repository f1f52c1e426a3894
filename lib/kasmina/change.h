#pragma once
// A change of the network that is undone unless it is committed: for a command that is carried out in the network and
// may fail outside of it. Owned by whoever makes the change. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "kasmina/network.h"

namespace esper::kasmina {

class Change {
 public:
  // A network has one open change at most. A second one is a bug, and so is whatever else alters the network before
  // this one was committed or rolled back. Borrows it.
  explicit Change(Network& network);
  // Rolls back an open change. For the way out of an exception: a device that fails once more here is not reported.
  ~Change();
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  // As Network::apply(); several commands are one change.
  std::vector<LifecycleEvent> apply(const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                                    std::uint64_t now_ns = 0);
  // What was applied stays.
  void commit();
  // The network is what it was: slots and owners, tensors by reference, and the host's values that a fold overwrote. As
  // good as the tensors were left alone since.
  void roll_back();

 private:
  void close();

  Network& network_;
  NetworkStructure before_;
  std::uint64_t structure_version_;
  TensorValues overwritten_;  // of the host, oldest first
  bool is_open_ = true;
};

}  // namespace esper::kasmina
