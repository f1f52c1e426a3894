#pragma once
// What the front asks of the engine, libesper_engine.so: one struct for each command. Both are built together, so plain
// C++ structs may cross.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/quantity.h"
#include "config/run_config.h"
#include "history/run_config.h"

namespace esper {

using history::kRunConfigFile;
using history::kRunHostFolder;

// Exit status of the commands that compare, where they found what they look for, as of diff(1).
inline constexpr int kDiffers = 1;

// What the commands that run a training's steps share.
struct Job {
  config::RunConfig config;         // read and found good, assignments included
  std::string cache_dir;            // of --cache-dir: folder of compiled programs; empty: the user's own
  bool json = false;                // one JSON object on stdout at the end; words go to stderr
  bool trust_program = false;       // the user named policy.command himself, or trusts the run folder that names it
  bool trust_data_program = false;  // likewise, data.command
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
  std::string esper;     // version and commit
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
  // Where the command line says that the data are, if not where the run's file does. Data that are not the run's own
  // are measured whole, as test data.
  std::string moved_path;
  bool by_sample = false;  // with json: also each sample's figures
};

struct ReproRequest {
  static constexpr const char* kCommand = "repro";
  config::RunConfig config;  // as in Job, of the bundle
  std::string bundle;        // the folder of a step that went wrong
  bool json = false;         // as in Job
};

struct ImportRequest {
  static constexpr const char* kCommand = "import";
  std::string source;                  // "model.py:ResNet", "timm:resnet18"
  std::string example;                 // shape of one sample: "3x32x32"; several inputs: "3x8x8,5"
  std::string output;                  // of several results the one that is trained; empty: there is one
  std::string folder;                  // that is written
  std::vector<std::string> arguments;  // "num_classes=10": what the model is made with
  std::string weights;                 // safetensors file; empty: the model's own start
  std::string license;                 // text file; empty: none
  std::uint64_t seed = 0;              // of the model's start values
  bool replace = false;                // also where there is a folder already
  bool json = false;                   // as in Job
};

enum class PredictionFormat { kCsv, kJsonl };
constexpr auto names(PredictionFormat) {
  return std::array{std::pair{PredictionFormat::kCsv, "csv"}, std::pair{PredictionFormat::kJsonl, "jsonl"}};
}

struct PredictRequest {
  static constexpr const char* kCommand = "predict";
  config::RunConfig config;                // as in Job
  std::string run_dir;                     // the run
  std::string checkpoint;                  // as in EvaluateRequest
  std::vector<std::string> inputs;         // files and folders; of a language model texts that are gone on with
  std::optional<std::string> prompt;       // a text that is gone on with
  std::string file;                        // that is written; empty: standard output
  std::optional<PredictionFormat> format;  // none: CSV, of a language model the text itself
  std::int64_t batch_size = 0;             // 0: the run's
  std::optional<std::int64_t> top;         // classes that are named; none: one
  // Of a language model.
  std::int64_t tokens = 200;
  double temperature = 1;
  std::int64_t top_k = 0;
  std::uint64_t seed = 0;
};

// What a network is written as.
enum class ExportFormat { kPytorch, kPt2, kAoti, kOnnx, kSafetensors };
constexpr auto names(ExportFormat) {
  using F = ExportFormat;
  return std::array{std::pair{F::kPytorch, "pytorch"}, std::pair{F::kPt2, "pt2"}, std::pair{F::kAoti, "aoti"},
                    std::pair{F::kOnnx, "onnx"}, std::pair{F::kSafetensors, "safetensors"}};
}

struct ExportRequest {
  static constexpr const char* kCommand = "export";
  config::RunConfig config;  // as in Job
  bool json = false;         // likewise
  std::string run_dir;       // the run
  std::string checkpoint;    // the checkpoint's name, or "best"; empty: the newest
  ExportFormat format = ExportFormat::kPytorch;
  std::string out;       // the folder to write
  bool replace = false;  // also where there is an export already
  std::string esper;     // version and commit of this build
};

struct ForkRequest {
  static constexpr const char* kCommand = "fork";
  Job job;
  NewRun run;
  std::string esper;                    // version and commit
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

struct ShowDataRequest {
  static constexpr const char* kCommand = "data show";
  config::RunConfig config;  // its data and task, by the command line
  bool json = false;         // as in Job
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
  std::string against;             // another run file, whose lanes take turns with the first's; empty: none
  std::string peer_model;          // MODULE.py:NAME of an imported network, for its peer in Python; empty: none
  std::string commit;              // of this build
};

// What a measurement is of.
enum class Measured {
  kTimes,         // of the lanes
  kTimesAndPeer,  // also of the same training in Python
  kCounts,        // operations, nothing timed
  kDrift,         // distance of each precision from float64, nothing timed
};

struct BenchRequest {
  static constexpr const char* kCommand = "bench";
  Comparison comparison;
  Job job;
  Measured measured = Measured::kTimes;
  int drift_steps = 20;                      // of kDrift
  std::string output_dir;                    // where the artefacts go; empty: none are written
  std::optional<config::RunConfig> against;  // of Comparison::against
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

using EngineRequest =
    std::variant<TrainRequest, EvaluateRequest, ReproRequest, ImportRequest, PredictRequest, ExportRequest, ForkRequest,
                 ExplainRequest, ReplayRequest, SwapRequest, ServeRequest, ImitateRequest, ShowPolicyRequest,
                 ShowDataRequest, DoctorRequest, BenchRequest, SaveBaselineRequest, CheckBaselineRequest>;

}  // namespace esper

// Returns the exit code. base::Error passes through to the front, which prints it.
extern "C" int esper_engine_run(const esper::EngineRequest& request);
