#pragma once
// The same policy network in PyTorch Geometric, in the private Python environment: eager, and under torch.compile. A
// process for each, on as many threads as ours.

#include <memory>
#include <string>
#include <vector>

#include "engine/bench/measure.h"
#include "engine/bench/rounds.h"
#include "engine/python/json_process.h"
#include "engine/scratch.h"
#include "tamiyo/graph/hetero_graph.h"
#include "tamiyo/network/weights.h"

namespace esper::engine::bench {

class PygPeers {
 public:
  // Starts them. Nothing is thrown: what does not work is refused.
  PygPeers(const tamiyo::Weights& weights, const std::vector<tamiyo::HeteroGraph>& graphs, const Scratch& scratch);

  // Those that run, with that graph; waits until they are ready for it. expected: its answer. Throws Error{kBug} where
  // theirs is another.
  std::vector<Contender> of(std::size_t graph, int nodes, const std::vector<float>& expected);

  // What there is not, and why.
  const std::vector<Refused>& refused() const { return refused_; }

 private:
  struct Peer {
    std::string name;  // "pyg_eager", "pyg_compiled"
    std::shared_ptr<JsonProcess> process;
  };

  std::vector<Peer> peers_;
  std::vector<Refused> refused_;
};

}  // namespace esper::engine::bench
