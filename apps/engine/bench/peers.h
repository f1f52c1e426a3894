#pragma once
// The same training in the private Python environment: eager with the best of torch's three optimizers, and the whole
// step under torch.compile. A process for each, on as many threads as ours.

#include <memory>
#include <string>
#include <vector>

#include "engine/bench/rounds.h"
#include "engine/bench/workload.h"
#include "engine/python/find_python.h"
#include "engine/python/json_process.h"
#include "storage/tensor_view.h"

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

// What a peer trains. model: MODULE.py:NAME of an imported network; empty: none.
struct PeerTraining {
  const Workload& workload;
  const std::string& model;
};

// Starts them and checks that each trains what we train: equal number of parameters, equal losses of the first steps
// (but of an imported network with dropout, which is only timed).
// Nothing is thrown: what does not work is a row's refusal.
Peers open_peers(const PeerTraining& training, const Scratch& scratch, const PythonFacts& python);

// For every peer. All throw std::runtime_error where it does not work.

// A safetensors file.
void write_peer_tensors(const std::vector<storage::TensorView>& tensors, const std::string& path);
// As JsonProcess::ask(); throws the peer's own error, too.
nlohmann::json answer_of(JsonProcess& process, const nlohmann::json& question, std::chrono::milliseconds deadline);
// One that answers {"do": "run", "steps": N} with {"us": [...]}.
Contender peer_contender(std::string name, std::shared_ptr<JsonProcess> process, double warmup_ms);

}  // namespace esper::engine::bench
