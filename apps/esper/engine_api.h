#pragma once
// What the front asks of the engine, libesper_engine.so. Both are built together, so plain C++ structs may cross.

#include <string>
#include <vector>

#include "base/quantity.h"
#include "config/run_config.h"

namespace esper {

// What `esper bench` and the measuring half of `esper baseline` are asked for.
struct BenchRequest {
  std::string scenario;            // its name, or that of the run file
  bool built_in = true;            // the scenario is one of Esper's own
  std::vector<std::string> lanes;  // by name, in this order; the first is what others are compared with
  int rounds = 21;                 // in which all rows take turns
  bool peer_python = false;        // also the same training in Python
  bool counts_only = false;        // count operations, time nothing
  std::string output_dir;          // where the artefacts go; empty: none are written
  std::string commit;              // of this build
  std::string baseline;            // baseline save, check: the file to write or to compare with
  bool replace = false;            // baseline save: also where there is one already
  double budget = 0.05;            // baseline check: how much slower may be
};

// What `esper fork` is asked for.
struct ForkRequest {
  std::string parent;                   // the run folder that is forked
  std::int64_t step = 0;                // at which of its checkpoints
  std::vector<std::string> without;     // seeds that are left out
  config::PolicyKind parents_policy{};  // who decides in the parent; config.policy.kind: in the fork
  bool train = true;                    // go on training at once
};

// Name of the resolved configuration inside a run folder.
inline constexpr const char* kRunConfigFile = "config.yaml";

struct EngineRequest {
  std::string command;                   // "train", "evaluate", "fork", "doctor", "bench", "baseline save", ...
  config::RunConfig config;              // train and evaluate: read and found good, assignments included
  std::string config_path;               // where it was read from
  std::vector<std::string> assignments;  // of --set, as given
  std::string run_dir;                   // train, fork: this very run folder (empty: a new one in config.runs_dir);
                                         // evaluate: the run
  std::string resume;                    // train: the run folder to continue; empty: start anew
  std::string checkpoint;                // evaluate: the checkpoint's name, or "best"; empty: the newest
  std::string cache_dir;                 // of --cache-dir: folder of compiled programs; empty: the user's own
  bool json = false;                     // one JSON object on stdout at the end; words go to stderr
  bool dry_run = false;                  // train: build everything, train nothing
  bool quiet = false;                    // train: no progress
  bool trace = false;                    // train: write trace.json
  base::Duration started{};              // when this process began, by the monotonic clock
  BenchRequest bench;
  ForkRequest fork;
};

}  // namespace esper

// Returns the exit code. base::Error passes through to the front, which prints it.
extern "C" int esper_engine_run(const esper::EngineRequest& request);
