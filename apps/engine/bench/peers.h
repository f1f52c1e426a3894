#pragma once
// The same training in the private Python environment: eager with the best of torch's three optimizers, and the whole
// step under torch.compile. A process for each, on as many threads as ours.

#include <memory>
#include <string>
#include <vector>

#include "engine/bench/peer_process.h"
#include "engine/bench/rounds.h"
#include "engine/bench/workload.h"
#include "engine/find_python.h"

namespace esper::engine::bench {

struct PeerRow {
  std::string name;       // "python_eager", "python_compiled"
  std::string optimizer;  // "fused", "foreach", "for-loop"
  std::string refusal;    // why there is none; empty: it runs
};

struct Peers {
  std::vector<PeerRow> rows;          // always both
  std::vector<Contender> contenders;  // of the rows that run; each holds its process
};

// Starts them and checks that each trains what we train: equal number of parameters, equal losses of the first steps.
// Nothing is thrown: what does not work is a row's refusal.
Peers open_peers(const Workload& workload, const Scratch& scratch, const PythonFacts& python);

}  // namespace esper::engine::bench
