#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "config/facts/exported_host.h"
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

struct ImportOptions {
  ImportRequest request;
  std::string timm, torchvision;
  std::string shown;  // a package to describe, instead
};

nlohmann::ordered_json site_json(const config::ExportedSite& site) {
  nlohmann::ordered_json shape = nlohmann::ordered_json::array();
  const auto& [kind, channels, height, width, tokens, uncopied] = site.shape;
  if (kind == leyline::FeatureKind::kImage) shape = {channels, height, width};
  if (kind == leyline::FeatureKind::kSequence) shape = {tokens, channels};
  if (kind == leyline::FeatureKind::kFeatures) shape = {channels};
  return {{"path", site.path},         {"also", site.also},         {"kind", base::name_of(kind)},
          {"shape", std::move(shape)}, {"is_block", site.is_block}, {"taken_by", site.taken_by}};
}

int show(const std::string& folder, bool json) {
  const auto host = config::read_exported_host(folder);
  if (!host) throw base::Error(base::ExitCode::kData, host.error());
  nlohmann::ordered_json sites = nlohmann::ordered_json::array();
  for (const auto& site : host->sites) sites.push_back(site_json(site));
  if (json) {
    print_json({{"source", host->source},
                {"input", host->input},
                {"example", host->example},
                {"takes_tokens", host->takes_tokens},
                {"output", host->output},
                {"parameters", host->parameters},
                {"frozen", host->frozen},
                {"sites", std::move(sites)}});
    return 0;
  }
  print(
      fmt::format("{}: samples of [{}]{}{}, outputs [{}], {} trainable tensors\nplaces where modules can grow (*: at "
                  "the end of a block; growth.slots: [auto] selects these)\n",
                  host->source, fmt::join(host->input, ", "), host->takes_tokens ? " tokens" : "",
                  host->example.empty() ? "" : " (--example " + host->example + ")", fmt::join(host->output, ", "),
                  host->parameters.size()));
  for (const auto& site : sites) {
    print_line(fmt::format("{} {:<32} {:<9} {}", site["is_block"].get<bool>() ? "*" : " ",
                           site["path"].get<std::string>(), site["kind"].get<std::string>(), site["shape"].dump()));
  }
  return 0;
}

int import(ImportOptions& options) {
  ImportRequest& request = options.request;
  if (!options.shown.empty()) return show(options.shown, request.json);
  const auto take = [&](const std::string& package, const std::string& name) {
    if (name.empty()) return;
    if (!request.source.empty()) {
      throw base::Error(base::ExitCode::kConfig, "name one model: MODULE.py:NAME, --from-timm or --from-torchvision");
    }
    request.source = package + ":" + name;
  };
  take("timm", options.timm);
  take("torchvision", options.torchvision);
  for (const auto& [given, what] : {std::pair{&request.source, "a model: MODULE.py:NAME"},
                                    std::pair{&request.example, "the shape of one sample: --example 3x32x32"},
                                    std::pair{&request.folder, "a folder to write: --out FOLDER"}}) {
    if (given->empty()) throw base::Error(base::ExitCode::kConfig, std::string("the import needs ") + what);
  }
  if (request.source.find(':') == std::string::npos) {
    throw base::Error(base::ExitCode::kConfig, request.source + " names no model in the file; write " + request.source +
                                                   ":NAME, a torch.nn.Module, or a class or function that makes one");
  }
  return run_in_engine(request);
}

}  // namespace

void add_import(Front& front) {
  CLI::App* command = add_command(front.root, "import", "Import a PyTorch model, to train and grow it",
                                  "esper import model.py:ResNet --arg num_classes=10 --example 3x32x32 --out resnet\n"
                                  "         esper import --from-timm resnet18 --example 3x224x224 --out resnet18\n"
                                  "         esper import --show resnet\n"
                                  "A model, --example and --out are needed, except with --show");
  const auto options = std::make_shared<ImportOptions>();
  ImportRequest& request = options->request;
  command
      ->add_option("model", request.source,
                   "File and name of a torch.nn.Module, or of a class or function that makes one")
      ->type_name("MODULE.py:NAME");
  command->add_option("--from-timm", options->timm, "Import this model of the package timm instead")->type_name("NAME");
  command
      ->add_option("--from-torchvision", options->torchvision, "Import this model of the package torchvision instead")
      ->type_name("NAME");
  command
      ->add_option("--example", request.example,
                   "Shape of one sample, without the batch dimension, like 3x32x32 or 16; tokens with their type, like "
                   "64:int64; several inputs separated by commas")
      ->type_name("SHAPE[,SHAPE]");
  command
      ->add_option("--output", request.output,
                   "Which of several outputs of the model is trained: its name, like logits, or its index, from 0")
      ->type_name("NAME");
  command
      ->add_option("--arg", request.arguments,
                   "Argument NAME=VALUE for the class or function that makes the model; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--weights", request.weights,
                   "Safetensors file with the model's initial weights; default: those that the model is made with")
      ->type_name("FILE");
  command->add_option("--license", request.license, "Text file with the model's licence, kept in the folder")
      ->type_name("FILE");
  command->add_option("--seed", request.seed, "Seed of the model's initial weights; default: 0")->type_name("N");
  command->add_option("--out", request.folder, "Folder to write; a run file names it as host.path")
      ->type_name("FOLDER");
  command->add_flag("--replace", request.replace, "Replace an existing folder of an imported model");
  command
      ->add_option("--show", options->shown,
                   "Import nothing; describe the imported model in this folder, and where it can grow")
      ->type_name("FOLDER");
  add_json_flag(*command, request.json);
  command->callback([&front, options] { front.run = [options] { return import(*options); }; });
}

}  // namespace esper
