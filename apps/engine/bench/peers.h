#pragma once
// The same training in the private Python environment: eager with the best of torch's three optimizers, and forward
// and update under torch.compile; on CUDA also as fast as torch.compile makes it, in CUDA graphs. A process for each,
// with the settings of ours.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/bench/rounds.h"
#include "engine/bench/workload.h"
#include "engine/python/find_python.h"
#include "engine/python/json_process.h"
#include "storage/safetensors/tensor_view.h"

namespace esper::engine::bench {

struct PeerRow {
  std::string name;       // "python_eager", "python_compiled", "python_max_autotune"
  std::string optimizer;  // "fused", "foreach", "for-loop"; of the third also whose CUDA graphs
  std::string refusal;    // why there is none; empty: it runs
};

struct Peers {
  std::vector<PeerRow> rows;          // always two, on CUDA three
  std::vector<Contender> contenders;  // of the rows that run; each holds its process
  nlohmann::json settings;            // of the processes, as compute_settings(); null where none runs
};

// What a peer trains. model: MODULE.py:NAME of an imported network; empty: none.
struct PeerTraining {
  const Workload& workload;
  const std::string& model;
};

// Starts them and checks that each trains what we train: equal settings, equal number of parameters, equal losses of
// the first steps (but of an imported network with dropout, which is only timed).
// Nothing is thrown: what does not work is a row's refusal.
Peers open_peers(const PeerTraining& training, const Scratch& scratch, const PythonFacts& python);

// Why there is no peer that trains the same, beside a missing Python; empty: there is.
std::string peer_obstacle(const PeerTraining& training);

// What it was asked for at its start, as open_peers() checks it. All throw std::runtime_error where it does not work.
struct OpenedPeer {
  std::shared_ptr<JsonProcess> process;
  nlohmann::json answer;
};
void write_peer_files(const Workload& workload, const Scratch& scratch);  // once, before any is opened
OpenedPeer open_peer(const std::string& name, const PeerTraining& training, const Scratch& scratch,
                     const PythonFacts& python);

// For every peer. All throw std::runtime_error where it does not work.

// A safetensors file.
void write_peer_tensors(const std::vector<storage::TensorView>& tensors, const std::string& path);
// As JsonProcess::ask(); throws the peer's own error, too.
nlohmann::json answer_of(JsonProcess& process, const nlohmann::json& question, std::chrono::milliseconds deadline);
// One that answers {"do": "run", "steps": N} with {"us": [...]}.
Contender peer_contender(std::string name, std::shared_ptr<JsonProcess> process, double warmup_ms);

}  // namespace esper::engine::bench
