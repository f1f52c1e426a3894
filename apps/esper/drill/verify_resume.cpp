#include "drill/verify_resume.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/fault.h"
#include "base/scratch_folder.h"
#include "base/text/progress_line.h"
#include "config/loading/load.h"
#include "drill/certificate.h"
#include "drill/drill.h"
#include "drill/stop.h"
#include "esper/drill/output_file.h"
#include "esper/front.h"
#include "esper/own_program.h"
#include "esper/queue/daemon_client.h"
#include "esper/run_options.h"
#include "esper/version.h"
#include "runs/find_runs.h"

namespace esper {
namespace {

constexpr int kMostKills = 10'000;

struct VerifyOptions {
  ConfigOptions config;
  std::string cache_dir, output = "resume-certificate.json";
  int kills = 5;
  std::int64_t seed = 1;
  bool keep = false;
};

void say(const std::string& text) { base::show_progress("verify-resume", text); }

void print_run(std::size_t number, const drill::KilledRun& run) {
  const auto& training = run.training;
  print_line(fmt::format("run {}: {}, of which {} count; {} {}", number, counted(training.kills.size(), "kill"),
                         training.counted(), training.processes, training.processes == 1 ? "process" : "processes"));
  for (const auto& aspect : run.aspects) {
    const std::string result = aspect.difference.empty() ? "equal" : "DIFFERENT: " + aspect.difference;
    print_line(fmt::format("  {:<36} {:>6} {:<8} {}{}", aspect.name, aspect.compared, aspect.unit, result,
                           aspect.remark.empty() ? "" : " (" + aspect.remark + ")"));
  }
}

bool is_short(const drill::ResumeProof& proof) { return proof.kills() < proof.wanted; }

void print_proof(const drill::ResumeProof& proof, const VerifyOptions& options, const std::string& folder) {
  for (std::size_t i = 0; i < proof.runs.size(); ++i) print_run(i + 1, proof.runs[i]);
  print_line(proof.is_equal()
                 ? "equal, to the last bit, after " + counted(static_cast<std::size_t>(proof.kills()), "kill")
                 : "NOT equal: the runs are kept in " + folder);
  if (is_short(proof)) {
    print_line(fmt::format(
        "only {} of {} kills could be made: the training ends too soon; give it more epochs, or more frequent "
        "checkpoints; if it waited for programs to be compiled, they are compiled now: run it again",
        proof.kills(), proof.wanted));
  }
  if (proof.is_equal() && options.keep) print_line("runs: " + folder);
}

int exit_code_of_proof(const drill::ResumeProof& proof) {
  if (!proof.is_equal()) return kDiffers;
  return is_short(proof) ? static_cast<int>(base::ExitCode::kConfig) : 0;
}

// The runs of a training that failed are what the user wants to look at; one that was refused made none.
drill::ResumeProof proved(const drill::TrainingPlan& plan, const VerifyOptions& options, base::ScratchFolder& scratch) {
  try {
    auto proof =
        drill::verify_resume(plan, scratch.path(), options.kills, static_cast<std::uint64_t>(options.seed), say);
    base::end_progress();
    return proof;
  } catch (const base::Error& error) {
    base::end_progress();
    const bool has_runs = !runs::find_runs({scratch.path()}).folders.empty();
    if (!has_runs || (drill::Stop::is_asked() && !options.keep)) throw;
    scratch.keep();
    throw base::Error(error.code(), fmt::format("{}; its runs are kept in {}", error.what(), scratch.path()));
  }
}

// Of ESPER_FAULTS: where nothing is disturbed, equal runs prove nothing.
void refuse_unknown_faults() {
  for (const auto& point : base::fault::unfired()) {
    if (const auto problem = drill::problem_of_fault(point + "@1"); !problem.empty())
      throw base::Error(base::ExitCode::kConfig, "ESPER_FAULTS: " + problem);
  }
}

int verify(const VerifyOptions& options) {
  refuse_unknown_faults();
  const auto config = load_for_training(options.config).config;  // before anything is trained
  refuse_unwritable(options.output);
  base::ScratchFolder scratch("esper-verify-resume");
  const drill::Stop stop;
  const drill::TrainingPlan plan{own_program(), options.config.file, options.config.assignments, options.cache_dir};
  const auto proof = proved(plan, options, scratch);
  const bool keeps = options.keep || !proof.is_equal();
  if (keeps) scratch.keep();
  const drill::CertificateFacts facts{static_cast<std::uint64_t>(options.seed), build_name(),
                                      environment_value("ESPER_FAULTS"), keeps ? scratch.path() : ""};
  const auto document = drill::certificate(proof, plan, config, facts);
  const int written = write_and_print(options.output, document, options.config.format(),
                                      [&] { print_proof(proof, options, scratch.path()); });
  if (written != 0) return written;
  if (!options.config.json) print_line("certificate: " + options.output);
  return exit_code_of_proof(proof);
}

}  // namespace

void add_verify_resume(Front& front) {
  CLI::App* command = add_command(
      front.root, "verify-resume", "Check that a training which is killed repeatedly ends with the same bits",
      "esper verify-resume configs/run/digits.yaml --kills 10 --set epochs=20\n"
      "Trains once without interruption, then with kills (SIGKILL) at random moments, and compares parameters,\n"
      "optimizer state, random number generators, position in the data, topology, decisions and metrics.\n"
      "Exit code 0: all are equal; 1: they are not, and the runs are kept;\n"
      "2: all are equal, but the training was too short for that many kills");
  const auto options = std::make_shared<VerifyOptions>();
  add_config_options(*command, options->config);
  command->add_option("--kills", options->kills, "Number of kills, all runs together; default: 5")
      ->check(whole_number(1, kMostKills, "POSITIVE"))
      ->type_name("N");
  command->add_option("--seed", options->seed, "Seed of the random moments of the kills; default: 1")
      ->check(whole_number(0))
      ->type_name("N");
  command
      ->add_option("--output", options->output,
                   "File to write the certificate to, as JSON; default: resume-certificate.json")
      ->check(refuse_empty)
      ->type_name("FILE");
  add_cache_dir_option(*command, options->cache_dir);
  command->add_flag("--keep", options->keep, "Keep the runs, and print their folder");
  command->callback([&front, options] { front.run = [options] { return verify(*options); }; });
}

}  // namespace esper
