// `esper predict`: what a checkpoint's network says of new samples. It needs the run folder, and the run's data
// where the checkpoint lacks the averaged model's statistics.

#include <fmt/core.h>
#include <unistd.h>

#include <functional>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/names.h"
#include "base/text/printable.h"
#include "base/text/standard_output.h"
#include "base/text/text_file.h"
#include "base/text/text_outlet.h"
#include "data/new_samples.h"
#include "data/text_tokens.h"
#include "device/precision.h"
#include "engine/commands.h"
#include "engine/evaluating/prediction_lines.h"
#include "engine/loaders.h"
#include "engine/saved_run.h"
#include "storage/atomic_publish.h"
#include "storage/confined_file_system.h"
#include "storage/real_file_system.h"
#include "tolaria/evaluation/generate.h"

namespace esper::engine {
namespace {

using base::Error;
using base::ExitCode;
using Write = std::function<void(const std::string& text)>;

// On a terminal, one line that is drawn again and again.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (shown_) base::standard_error().write("\r\033[K");
  }
  template <class Text>
  void show(Text text) {
    if (!terminal_ || clock_.now() < next_) return;
    next_ = clock_.now() + std::chrono::milliseconds(200);
    shown_ = true;
    base::standard_error().write("\r\033[K" + base::printable_line(text()));
  }

 private:
  const base::Clock clock_;
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  base::Duration next_ = clock_.now() + std::chrono::seconds(1);
  bool shown_ = false;
};

const data::Preprocessing& require_preprocessing(const SavedRun& saved, const std::string& run) {
  if (saved.preprocessing) return *saved.preprocessing;
  throw Error(ExitCode::kCheckpoint,
              fmt::format("{} holds no preprocessing.json, like checkpoints of earlier versions; if the run's data are "
                          "in place, `esper fork {}@{} --no-train` makes a run folder whose checkpoint has it",
                          saved.path, run, saved.image.info.step));
}

// Probabilities, or values: float32 [B, outputs], or [B, outputs, H, W] of each pixel.
torch::Tensor answers_of(const step::Model& model, const torch::Tensor& inputs, const data::Preprocessing& like) {
  const c10::InferenceMode inference;
  torch::Tensor outputs;
  {
    const device::AutocastScope autocast(inputs.device().type(), model.settings.compute_type);
    outputs = model.network.forward(inputs, kasmina::Mode::kEvaluate);
  }
  constexpr std::int64_t kOfSamples = 2, kOfPixels = 4;
  const bool pixels = outputs.dim() == kOfPixels && like.task == config::Task::kClassification;
  if (outputs.dim() != kOfSamples && !pixels) {
    throw Error(ExitCode::kConfig,
                fmt::format("the network's output has {} dimensions, which esper predict does not print for task {}; "
                            "export the network instead",
                            outputs.dim(), base::name_of(like.task)));
  }
  outputs = outputs.to(torch::kFloat32);
  if (like.task == config::Task::kClassification) outputs = outputs.softmax(1);
  if (like.task == config::Task::kMultilabel) outputs = outputs.sigmoid();
  return data::in_target_units(like.standardization, outputs).cpu().contiguous();
}

AnswerOf what_of(const torch::Tensor& answers) { return answers.dim() == 2 ? AnswerOf::kSample : AnswerOf::kPixel; }

void require_printed_classes(AnswerOf what, std::int64_t top) {
  if (what == AnswerOf::kSample || top == 1) return;
  throw Error(
      ExitCode::kConfig,
      "--top: this network predicts a class for each pixel, and only the most likely one is printed; omit --top");
}

// answers: of one sample, [outputs, H, W].
std::string pixel_lines(const PredictionLines& lines, const SampleName& name, const torch::Tensor& answers) {
  auto [probabilities, classes] = answers.max(0);
  probabilities = probabilities.contiguous(), classes = classes.contiguous();
  const auto count = static_cast<std::size_t>(classes.numel());
  return lines.pixel_lines(name, {{classes.const_data_ptr<std::int64_t>(), count},
                                  {probabilities.const_data_ptr<float>(), count},
                                  static_cast<std::size_t>(answers.size(2))});
}

std::string lines_of(const PredictionLines& lines, const SampleName& name, const torch::Tensor& answers) {
  if (answers.dim() != 1) return pixel_lines(lines, name, answers);
  return lines.line(name, {answers.const_data_ptr<float>(), static_cast<std::size_t>(answers.numel())});
}

// done: samples that came before. progress: after each batch, how many are done now.
void predict_portion(const TrainingSetup& setup, const data::NewSamples& samples, const PredictionLines& lines,
                     const Write& write, std::size_t done, const std::function<void(std::size_t done)>& progress) {
  const auto loader = open_loader(setup, samples.set, data::Order::kSequential);
  std::size_t i = 0;
  while (const auto batch = loader->next()) {
    const auto answers = answers_of(*setup.model, batch->inputs.to(setup.device), lines.preprocessing());
    require_printed_classes(what_of(answers), lines.top());
    std::string text = done + i == 0 ? lines.header(what_of(answers)) : "";
    for (std::int64_t row = 0; row < answers.size(0); ++row, ++i) {
      text += lines_of(lines, {samples.files[i], samples.positions[i]}, answers[row]);
    }
    write(text);
    progress(done + i);
  }
}

void predict_samples(const PredictRequest& request, const TrainingSetup& setup, const PredictionLines& lines,
                     const Write& write) {
  data::NewSampleFiles files(request.inputs, lines.preprocessing());
  ProgressLine progress;
  std::size_t done = 0;
  while (const auto samples = files.next()) {
    predict_portion(setup, *samples, lines, write, done, [&](std::size_t now) {
      progress.show(
          [&] { return fmt::format("{} samples; file {} of {}", now, files.files_read(), files.num_files()); });
    });
    done += samples->files.size();
  }
}

std::string prompt_in(const std::string& file) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  auto text = base::read_text_file(file, kMostBytes, base::Streams::kOfThisProcess);
  if (!text) throw Error(ExitCode::kData, file + ": " + text.error());
  if (text->size() > kMostBytes) throw Error(ExitCode::kData, file + ": is larger than 16 MiB");
  return std::move(*text);
}

struct Prompt {
  std::string place, text;
};

std::vector<Prompt> prompts_of(const PredictRequest& request) {
  std::vector<Prompt> prompts;
  for (const auto& file : request.inputs) prompts.push_back({file, prompt_in(file)});
  if (request.prompt) prompts.push_back({"the prompt", *request.prompt});
  return prompts;
}

void predict_text(const PredictRequest& request, const TrainingSetup& setup, const PredictionLines& lines,
                  const Write& write) {
  const data::TextTokens tokens(lines.preprocessing());
  const tolaria::TokenSampling sampling{request.tokens, request.temperature, request.top_k, request.seed};
  ProgressLine progress;
  if (request.format) write(lines.header());
  for (const auto& [place, prompt] : prompts_of(request)) {
    const auto show = [&](std::int64_t done) {
      progress.show([&] { return fmt::format("{} of {} tokens", done, request.tokens); });
    };
    auto given = tokens.of_text(prompt, place);
    // Without a format it is the whole text, to be read.
    const auto begin = request.format ? std::string() : tokens.text_of(given);
    const auto drawn =
        tolaria::generate(*setup.model, std::move(given), lines.preprocessing().shape, setup.device, sampling, show);
    const auto text = tokens.text_of(drawn);
    write(request.format ? lines.text_line(prompt, text) : begin + text + "\n");
  }
}

void predict(const PredictRequest& request, const TrainingSetup& setup, const PredictionLines& lines,
             const Write& write) {
  if (lines.preprocessing().task == config::Task::kLanguage) return predict_text(request, setup, lines, write);
  predict_samples(request, setup, lines, write);
}

// A file is there whole or not at all.
void write_to(const std::string& file, const std::function<void(const Write&)>& work) {
  if (file.empty()) return work([](const std::string& text) { base::write_text(text); });
  storage::publish_file(storage::real_file_system(), file, [&](const storage::ByteSink& sink) {
    work([&](const std::string& text) { sink(storage::bytes_of(text)); });
  });
}

void require_inputs(const PredictRequest& request, const data::Preprocessing& like) {
  const bool language = like.task == config::Task::kLanguage;
  if (request.prompt && !language) {
    throw Error(ExitCode::kConfig,
                fmt::format("--prompt is for language models; this run was trained for {}: name the files to predict",
                            base::name_of(like.task)));
  }
  if (!request.inputs.empty() || request.prompt) return;
  throw Error(ExitCode::kConfig, language ? "name a file with the text to continue, or give --prompt TEXT"
                                          : "name the files or folders to predict");
}

// Other tasks have all of their outputs printed, or a text.
void require_classes(const PredictRequest& request, config::Task task) {
  if (!request.top || task == config::Task::kClassification) return;
  throw Error(ExitCode::kConfig,
              fmt::format("--top is for classification; this run was trained for {}: leave it out{}",
                          base::name_of(task), task == config::Task::kLanguage ? ", or give --top-k" : ""));
}

}  // namespace

int run(const PredictRequest& request) {
  const base::Interrupt interrupt;
  storage::ConfinedFileSystem files(request.run_dir, storage::Owner::kAnyone);
  const SavedRun saved = open_saved_run(files, request.run_dir, request.checkpoint);
  const auto& preprocessing = require_preprocessing(saved, request.run_dir);
  require_task(saved, request.config.task);
  require_inputs(request, preprocessing);
  require_classes(request, preprocessing.task);
  auto config = request.config;
  config.data.gpu_dataset = config::Resident::kOff;
  TrainingSetup setup = set_up_saved(config, preprocessing.shape, saved_numerics(saved));
  setup.data.standardization = preprocessing.standardization;
  restore(setup, saved);
  const tolaria::AveragedModel averaged = averaged_model(setup, saved, kSameCommand);
  // The averages' statistics are those of the run's own batches.
  if (request.batch_size > 0) setup.config.data.batch_size = static_cast<int>(request.batch_size);
  const PredictionLines lines(preprocessing, request.format.value_or(PredictionFormat::kCsv), request.top.value_or(1));
  write_to(request.file, [&](const Write& write) { predict(request, setup, lines, write); });
  return 0;
}

}  // namespace esper::engine
