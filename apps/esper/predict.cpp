// `esper predict`: what a trained network says of new samples.
#include <cmath>
#include <filesystem>

#include "base/names.h"
#include "base/text/printable.h"
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

constexpr std::int64_t kMostBatch = 1 << 20, kMostTokens = 1 << 20, kMostTop = 1'000'000;
constexpr double kMostTemperature = 1000;

struct PredictOptions {
  PredictRequest request;
  std::string format;
  std::vector<std::string> assignments;
  bool json = false;
};

void check_out(const PredictRequest& request) {
  refuse_other_than_file(request.file, "name a file; without --out lines go to standard output");
  for (const auto& input : request.inputs) {
    std::error_code ignored;
    if (!std::filesystem::equivalent(input, request.file, ignored)) continue;
    throw base::Error(base::ExitCode::kConfig,
                      "--out " + base::in_quotes(request.file) + " is one of the inputs; name another file");
  }
}

int predict(PredictOptions options) {
  PredictRequest& request = options.request;
  if (std::isnan(request.temperature)) throw base::Error(base::ExitCode::kConfig, "--temperature nan: give a number");
  check_out(request);
  if (!options.format.empty()) request.format = base::from_name<PredictionFormat>(options.format);
  if (options.json) request.format = PredictionFormat::kJsonl;
  request.config = load_run_for_computing(request.run_dir, options.assignments);
  return run_in_engine(request);
}

void add_text_options(CLI::App& command, PredictRequest& request) {
  command.add_option("--prompt", request.prompt, "Language models: text to continue")->type_name("TEXT");
  command.add_option("--tokens", request.tokens, "Language models: number of tokens to generate")
      ->check(CLI::Range(std::int64_t{1}, kMostTokens))
      ->capture_default_str();
  command
      .add_option("--temperature", request.temperature,
                  "Language models: below 1 likely tokens are sampled more often; 0 always takes the most likely")
      ->check(CLI::Range(0.0, kMostTemperature))
      ->capture_default_str();
  command
      .add_option("--top-k", request.top_k,
                  "Language models: sample from this many of the most likely tokens; 0: from all")
      ->check(CLI::Range(std::int64_t{0}, kMostTop))
      ->capture_default_str();
  command.add_option("--seed", request.seed, "Language models: seed of the sampling")->capture_default_str();
}

}  // namespace

void add_predict(Front& front) {
  CLI::App* command =
      add_command(front.root, "predict", "Predict classes, values or text for new samples with a run's network",
                  "esper predict runs/digits-20260301-120000 new.csv --top 3 --out new_classes.csv\n"
                  "         esper predict runs/shakespeare-20260301-120000 --prompt \"To be\" --tokens 100");
  const auto options = std::make_shared<PredictOptions>();
  PredictRequest& request = options->request;
  command->add_option("run", request.run_dir, "Run folder")->required()->type_name("RUN");
  command
      ->add_option(
          "input", request.inputs,
          "Images or folders of images, arrays (.npy), tables (.csv); language models: files with the text to continue")
      ->type_name("INPUT");
  command->add_option("--checkpoint", request.checkpoint, "Checkpoint name, or best; default: the newest")
      ->type_name("NAME")
      ->check(refuse_empty);
  command->add_option("--out", request.file, "The file to write; default: standard output")
      ->type_name("FILE")
      ->check(refuse_empty);
  command->add_option("--format", options->format, "csv or jsonl; default: csv, or for language models the text itself")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"csv", "jsonl"}));
  command->add_option("--batch-size", request.batch_size, "Samples in one forward pass; default: as in training")
      ->check(CLI::Range(std::int64_t{1}, kMostBatch));
  command
      ->add_option("--top", request.top,
                   "Classification: number of classes to print, the most likely first; of a pixel only the most likely "
                   "is printed")
      ->check(CLI::Range(std::int64_t{1}, kMostTop))
      ->default_str("1");
  add_text_options(*command, request);
  add_set_option(*command, options->assignments);
  command->add_flag("--json", options->json, "Print JSON lines, including errors")->excludes("--format");
  command->callback([&front, options] { front.run = [options] { return predict(*options); }; });
}

}  // namespace esper
