// `esper policy imitate`: trains a policy network on the decisions of recorded runs.

#include "simic/imitation/imitate.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/clock.h"
#include "base/error.h"
#include "base/text/printable.h"
#include "base/text/standard_output.h"
#include "base/text/text_outlet.h"
#include "engine/commands.h"
#include "engine/policy/figures.h"
#include "engine/policy/logged_policies.h"
#include "history/growth/decision_log.h"
#include "nissa/console_sink.h"
#include "nissa/progress_bar.h"
#include "simic/imitation/agreement.h"
#include "simic/imitation/lessons.h"
#include "simic/imitation/teacher.h"
#include "storage/checksum.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::engine {
namespace {

using base::Error;
using base::ExitCode;
using history::DecisionLog;
using simic::Lesson;
using tamiyo::RunPart;

using LessonList = std::vector<const Lesson*>;

// A run that is learned from or measured on. Not moved once made: its log is looked into.
struct RunSource {
  RunSource(const std::string& folder, bool trust_program)
      : run(folder), log(history::read_decision_log(folder)), policies(log, trust_program), digest(digest_of(folder)) {}

  // Of the first run that it comes from: forks hold their ancestors' decisions.
  std::string family() const {
    return log.processes.empty() ? run : log.processes.front().run_id + "\n" + log.processes.front().config;
  }
  simic::TaughtRun taught() {
    return {log,
            [this](std::size_t process) {
              const auto& config = policies.config_of(process);
              return simic::SightSettings{config.growth.max_seeds, config.policy.gnn.see_times};
            },
            answers};
  }
  void ask(const std::string& teacher) {
    answers = simic::answers_of_teacher(log, teacher, [&](std::size_t process) -> leyline::Controller& {
      return policies.controller(process, teacher);
    });
  }

  std::string run;
  DecisionLog log;
  LoggedPolicies policies;
  std::string digest;
  RunPart part = RunPart::kTraining;
  std::vector<std::optional<leyline::Decision>> answers;  // of the teacher
  simic::Lessons learned;

 private:
  static std::string digest_of(const std::string& folder) {
    return storage::hex64(storage::hash64(storage::read_file(
        storage::real_file_system(), folder + "/" + history::kDecisionLog, history::kMostDecisionLogBytes)));
  }
};

using Sources = std::vector<std::unique_ptr<RunSource>>;

Sources read_sources(const ImitateRequest& request) {
  Sources sources;
  for (const auto& run : request.runs) {
    auto source = std::make_unique<RunSource>(run, request.trust_program);
    const auto same = std::ranges::find_if(sources, [&](const auto& other) { return other->digest == source->digest; });
    if (same != sources.end()) {
      throw Error(ExitCode::kConfig,
                  fmt::format("run {} holds the same decisions as run {}; name each once", run, (*same)->run));
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

// Whole runs, since decisions that follow each other are nearly alike, and with a run its forks.
void hold_out(const ImitateRequest& request, const Sources& sources) {
  std::vector<std::string> families;
  for (const auto& source : sources) families.push_back(source->family());
  std::ranges::sort(families);
  families.erase(std::ranges::unique(families).begin(), families.end());
  auto count = static_cast<std::size_t>(request.held_out * static_cast<double>(families.size()) + 0.5);
  if (request.held_out > 0 && families.size() > 1) count = std::clamp<std::size_t>(count, 1, families.size() - 1);
  std::mt19937_64 random(request.seed);
  for (; count > 0 && families.size() > 1; --count) {
    const auto at = families.begin() + static_cast<std::ptrdiff_t>(random() % families.size());
    for (const auto& source : sources) {
      if (source->family() == *at) source->part = RunPart::kHeldOut;
    }
    families.erase(at);
  }
}

tamiyo::Normaliser training_normaliser(const Sources& sources) {
  std::vector<simic::TaughtRun> runs;
  for (const auto& source : sources) {
    if (source->part == RunPart::kTraining) runs.push_back(source->taught());
  }
  return simic::normaliser_over(runs);
}

LessonList lessons_in(const Sources& sources, RunPart part) {
  LessonList lessons;
  for (const auto& source : sources) {
    if (source->part != part) continue;
    for (const auto& lesson : source->learned.lessons) lessons.push_back(&lesson);
  }
  return lessons;
}

bool is_germination(const Lesson& lesson) { return lesson.target.action == tamiyo::Action::kGerminate; }

void check_lessons(const ImitateRequest& request, const LessonList& training) {
  if (training.empty()) {
    throw Error(ExitCode::kData,
                fmt::format("{} has no answer in these runs; name another teacher with --teacher, or runs "
                            "with policy.kind={}",
                            request.teacher, request.teacher));
  }
  if (std::ranges::none_of(training, [](const Lesson* lesson) { return is_germination(*lesson); })) {
    throw Error(
        ExitCode::kData,
        fmt::format(
            "{} germinated nothing in {} decisions: a network would only learn to wait; name runs in which it grows",
            request.teacher, training.size()));
  }
}

// What is left out, and the epochs, on standard error.
class Display {
 public:
  explicit Display(int epochs) {
    progress_->epochs = static_cast<std::uint32_t>(epochs);
    progress_->phase = leyline::Phase::kTraining;
    if (nissa::console_style(STDERR_FILENO) == nissa::ConsoleStyle::kBar) {
      bar_ = std::make_unique<nissa::ProgressBar>(progress_, base::standard_error(), nissa::Colour::kOff);
    }
  }

  void print(const std::string& line) {
    const auto text = base::printable_line(line) + "\n";
    bar_ ? bar_->print_above(text) : base::standard_error().write(text);
  }

  void show(const simic::ImitationProgress& done) {
    progress_->epoch = static_cast<std::uint32_t>(done.epoch + 1);
    std::string line = fmt::format("epoch {}/{}  loss {:.4f}", done.epoch, progress_->epochs.load(), done.loss);
    const auto add = [&](const char* name, const char* key) {
      const auto found = done.held_out.find(key);
      if (found != done.held_out.end()) line += fmt::format("  {} {:.4f}", name, found->second);
    };
    add("held-out loss", "loss");
    add("balanced accuracy", "balanced_accuracy");
    print(line);
  }

 private:
  const std::shared_ptr<leyline::Progress> progress_ = std::make_shared<leyline::Progress>();
  std::unique_ptr<nissa::ProgressBar> bar_;
};

void make_lessons(const ImitateRequest& request, const Sources& sources, const tamiyo::Normaliser& normaliser,
                  Display& display) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    auto& source = *sources[i];
    source.ask(request.teacher);
    source.learned = simic::lessons_of(source.taught(), normaliser, i);
    for (const auto& gap : source.log.gaps) display.print("note: " + gap);
    for (const auto& reason : source.learned.left_out) {
      display.print(fmt::format("note: {}, {}: it is left out", source.run, reason));
    }
    if (source.learned.unanswered > 0) {
      display.print(
          fmt::format("note: {}: {} decisions are not {}'s", source.run, source.learned.unanswered, request.teacher));
    }
  }
}

std::string today() {
  const auto seconds =
      static_cast<std::time_t>(std::chrono::duration_cast<std::chrono::seconds>(base::Clock().wall()).count());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

tamiyo::Provenance provenance_of(const ImitateRequest& request, const Sources& sources,
                                 const simic::Imitated& imitated) {
  tamiyo::Provenance provenance;
  provenance.method = "imitation";
  provenance.teacher = request.teacher;
  provenance.command = request.command_line;
  provenance.date = today();
  provenance.esper = request.esper;
  provenance.settings = {{"epochs", request.epochs},
                         {"seed", static_cast<double>(request.seed)},
                         {"learning_rate", request.learning_rate},
                         {"held_out", request.held_out},
                         {"epoch_taken", imitated.epoch}};
  for (const auto& source : sources) {
    const auto& lessons = source->learned.lessons;
    const auto germinations = std::ranges::count_if(lessons, is_germination);
    provenance.runs.push_back(
        {source->run, source->digest, source->part, lessons.size(), static_cast<std::uint64_t>(germinations)});
  }
  provenance.training = simic::agreement(imitated.weights, lessons_in(sources, RunPart::kTraining));
  const auto held_out = lessons_in(sources, RunPart::kHeldOut);
  if (!held_out.empty()) provenance.held_out = simic::agreement(imitated.weights, held_out);
  return provenance;
}

// As it is to be saved.
tamiyo::PolicyFile train_policy(const ImitateRequest& request) {
  const auto sources = read_sources(request);
  hold_out(request, sources);
  tamiyo::PolicyFile policy;
  policy.normaliser = training_normaliser(sources);
  Display display(request.epochs);
  make_lessons(request, sources, policy.normaliser, display);
  const auto training = lessons_in(sources, RunPart::kTraining), held_out = lessons_in(sources, RunPart::kHeldOut);
  check_lessons(request, training);
  if (held_out.empty()) display.print("note: one run alone: nothing is held out, and no agreement is measured");
  simic::ImitationSettings settings;
  settings.epochs = request.epochs;
  settings.seed = request.seed;
  settings.learning_rate = request.learning_rate;
  auto imitated = simic::imitate(training, held_out, settings, [&](const auto& done) { display.show(done); });
  policy.provenance = provenance_of(request, sources, imitated);
  policy.weights = std::move(imitated.weights);
  policy.drawn_from = request.seed;
  return policy;
}

void require_policy_place(const ImitateRequest& request) {
  if (request.replace || storage::real_file_system().kind_of(request.file) == base::PathKind::kNothing) return;
  throw Error(ExitCode::kConfig, fmt::format("--out {} exists already; name another file, or replace it with --replace",
                                             base::in_quotes(request.file)));
}

}  // namespace

int run(const ImitateRequest& request) {
  auto& files = storage::real_file_system();
  require_policy_place(request);
  const auto policy = train_policy(request);
  storage::ensure_folder(files, storage::parent_of(request.file));
  require_policy_place(request);  // for what came there since
  tamiyo::save_policy(files, request.file, policy);
  const auto shown = read_shown_policy(request.file);
  request.json ? base::write_json(policy_json(shown)) : print_policy(shown);
  return 0;
}

}  // namespace esper::engine
