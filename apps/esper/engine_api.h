#pragma once
// What the front asks of the engine, libesper_engine.so: one struct for each command. Both are built together, so plain
// C++ structs may cross.

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/quantity.h"
#include "config/run_config.h"

namespace esper {

// Name of the resolved configuration inside a run folder.
inline constexpr const char* kRunConfigFile = "config.yaml";

// Exit status of the commands that compare, where they found what they look for, as of diff(1).
inline constexpr int kDiffers = 1;

// What the commands that run a training's steps share.
struct Job {
  config::RunConfig config;    // read and found good, assignments included
  std::string cache_dir;       // of --cache-dir: folder of compiled programs; empty: the user's own
  bool json = false;           // one JSON object on stdout at the end; words go to stderr
  bool trust_program = false;  // the user named policy.command himself, or trusts the run folder that names it
};

// The run that `esper train` and `esper fork` make.
struct NewRun {
  std::string folder;        // to make; empty: a new one in config.runs_dir
  bool quiet = false;        // no progress
  base::Duration started{};  // when this process began, by the monotonic clock
};

struct TrainRequest {
  static constexpr const char* kCommand = "train";
  Job job;
  NewRun run;            // its folder: of a new run
  std::string resume;    // the run folder to continue; empty: a new run
  bool dry_run = false;  // build everything, train nothing
  bool trace = false;    // write trace.json
};

// What a checkpoint is measured on.
enum class EvaluatedPart { kValidation, kTest };
constexpr auto names(EvaluatedPart) {
  return std::array{std::pair{EvaluatedPart::kValidation, "validation"}, std::pair{EvaluatedPart::kTest, "test"}};
}

struct EvaluateRequest {
  static constexpr const char* kCommand = "evaluate";
  config::RunConfig config;                         // as in Job
  bool json = false;                                // likewise
  std::string run_dir;                              // the run
  std::string checkpoint;                           // the checkpoint's name, or "best"; empty: the newest
  EvaluatedPart part = EvaluatedPart::kValidation;  // kTest: where config names one, or:
  std::string added_test_path;                      // test data of a run whose own file names none
  bool by_sample = false;                           // with json: also each sample's figures
};

struct ForkRequest {
  static constexpr const char* kCommand = "fork";
  Job job;
  NewRun run;
  std::string parent;                   // the run folder that is forked
  std::int64_t step = 0;                // at which of its checkpoints
  std::vector<std::string> without;     // seeds that are left out
  config::PolicyKind parents_policy{};  // who decides in the parent; job.config.policy.kind: in the fork
  bool train = true;                    // go on training at once
};

struct ExplainRequest {
  static constexpr const char* kCommand = "policy explain";
  std::string run_dir;
  std::uint32_t epoch = 0;  // after which the policy decided
  bool features = false;    // also every number that a policy network saw
  bool json = false;        // as in Job
};

struct ReplayRequest {
  static constexpr const char* kCommand = "policy replay";
  std::string run_dir;
  bool json = false;           // as in Job
  bool trust_program = false;  // likewise
};

struct SwapRequest {
  static constexpr const char* kCommand = "policy swap";
  std::string run_dir;
  config::PolicyKind policy{};  // who is asked instead
  std::string policy_file;      // gnn: its weights; empty: as the run's file says
  bool json = false;            // as in Job
  bool trust_program = false;   // likewise
};

struct ServeRequest {
  static constexpr const char* kCommand = "policy serve";
};

struct ImitateRequest {
  static constexpr const char* kCommand = "policy imitate";
  std::vector<std::string> runs;      // folders whose decisions are learned
  std::string file;                   // that is written
  std::string teacher = "heuristic";  // policy.kind whose decisions they are
  int epochs = 40;
  std::uint64_t seed = 0;
  double learning_rate = 3e-3;
  double held_out = 0.2;       // share of the runs that are measured on instead
  bool replace = false;        // also where there is a file already
  bool json = false;           // as in Job
  bool trust_program = false;  // likewise
  std::string esper;           // version and commit of this build
  std::string command_line;    // that asks for this
};

struct ShowPolicyRequest {
  static constexpr const char* kCommand = "policy show";
  std::string file;
  bool json = false;  // as in Job
};

struct DoctorRequest {
  static constexpr const char* kCommand = "doctor";
  bool json = false;  // as in Job
};

// A scenario's step, measured in several lanes side by side: one row for each lane.
struct Comparison {
  std::string scenario;            // its name, or that of the run file
  bool built_in = true;            // the scenario is one of Esper's own
  std::vector<std::string> lanes;  // by name, in this order; the first is what others are compared with
  int rounds = 0;                  // in which all rows take turns
  std::string commit;              // of this build
};

// What a measurement is of.
enum class Measured {
  kTimes,         // of the lanes
  kTimesAndPeer,  // also of the same training in Python
  kCounts,        // operations, nothing timed
};

struct BenchRequest {
  static constexpr const char* kCommand = "bench";
  Comparison comparison;
  Job job;
  Measured measured = Measured::kTimes;
  std::string output_dir;  // where the artefacts go; empty: none are written
};

struct SaveBaselineRequest {
  static constexpr const char* kCommand = "baseline save";
  Comparison comparison;
  Job job;
  std::string folder;    // of all baselines
  bool replace = false;  // also where there is one already
};

struct CheckBaselineRequest {
  static constexpr const char* kCommand = "baseline check";
  Comparison comparison;
  Job job;
  std::string folder;  // of all baselines
  double budget = 0;   // how much slower may be, as a share: 0.05 is five percent
};

using EngineRequest = std::variant<TrainRequest, EvaluateRequest, ForkRequest, ExplainRequest, ReplayRequest,
                                   SwapRequest, ServeRequest, ImitateRequest, ShowPolicyRequest, DoctorRequest,
                                   BenchRequest, SaveBaselineRequest, CheckBaselineRequest>;

}  // namespace esper

// Returns the exit code. base::Error passes through to the front, which prints it.
extern "C" int esper_engine_run(const esper::EngineRequest& request);
