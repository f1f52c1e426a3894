#include <utility>

#include "base/names.h"
#include "config/facts/data_facts.h"
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

struct EvaluateOptions {
  EvaluateRequest request;
  std::string part;  // empty: test where the run names one
  std::vector<std::string> assignments;
};

// A test path that the run's file has not: training and validation part stay what they are without it, also where test
// data that they bring along validate.
void take_out_added_test_path(EvaluateRequest& request) {
  const config::DataConfig recorded = history::read_config_of_run(request.run_dir).config.data;
  config::DataConfig& data = request.config.data;
  if (!recorded.test_path.empty()) return;
  request.added_test_path = std::exchange(data.test_path, "");
  if (!request.added_test_path.empty()) data.test_fraction = recorded.test_fraction;
}

// With --part the run's own data are meant. Images with labels are named by a file, and lie below the path.
std::string moved_path_of(const EvaluateOptions& options) {
  const config::DataConfig& data = options.request.config.data;
  const config::DataConfig recorded = history::read_config_of_run(options.request.run_dir).config.data;
  if (data.path == recorded.path || !options.part.empty()) return "";
  if (data.labels.empty()) return data.path;
  return data.test_path == recorded.test_path ? data.labels : data.test_path;
}

EvaluatedPart part_of(const EvaluateOptions& options, const config::RunConfig& config) {
  const bool has_test = config::names_test_part(config.data);
  if (options.part.empty()) return has_test ? EvaluatedPart::kTest : EvaluatedPart::kValidation;
  const auto part = base::from_name<EvaluatedPart>(options.part).value();
  if (part == EvaluatedPart::kTest && !has_test) {
    throw base::Error(base::ExitCode::kConfig,
                      "--part test: run " + options.request.run_dir +
                          " names no test data; name them with --set data.test_path=PATH, or use --part validation");
  }
  return part;
}

int evaluate(EvaluateOptions options) {
  EvaluateRequest& request = options.request;
  request.config = load_run_for_computing(request.run_dir, options.assignments);
  request.part = part_of(options, request.config);
  request.moved_path = moved_path_of(options);
  take_out_added_test_path(request);
  return run_in_engine(request);
}

}  // namespace

void add_evaluate(Front& front) {
  CLI::App* command = add_command(front.root, "evaluate", "Evaluate a run's checkpoint on the test or validation data",
                                  "esper evaluate runs/digits-20260301-120000 --json");
  const auto options = std::make_shared<EvaluateOptions>();
  EvaluateRequest& request = options->request;
  command->add_option("run", request.run_dir, "Run folder")->required()->type_name("RUN");
  command->add_option("--checkpoint", request.checkpoint, "Checkpoint name, or best; default: the newest")
      ->type_name("NAME")
      ->check(refuse_empty);
  command
      ->add_option("--part", options->part,
                   "test or validation; default: test if the run file names test data, else validation")
      ->type_name("PART")
      ->check(CLI::IsMember({"test", "validation"}));
  add_set_option(*command, options->assignments);
  add_json_flag(*command, request.json);
  command
      ->add_flag("--by-sample", request.by_sample,
                 "With --json: also each sample's loss, and its value of the run's primary metric")
      ->needs("--json");
  command->callback([&front, options] { front.run = [options] { return evaluate(*options); }; });
}

}  // namespace esper
