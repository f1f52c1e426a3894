#include "porting/python/imported_class.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/joined.h"
#include "config/facts/exported_host.h"
#include "porting/python/python_call.h"
#include "porting/python/seed_text.h"
#include "program/model_program.h"
#include "program/python_text.h"
#include "storage/bytes.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::porting {
namespace {

using config::ExportedHost;
using kasmina::Slot;
using program::ModelProgram;

constexpr std::uint64_t kMostSourceBytes = 256ull << 20;

ModelProgram evaluation_program(const std::string& folder) {
  const std::string path = folder + "/evaluate.json";
  const auto bytes = storage::read_file(storage::real_file_system(), path, kMostSourceBytes);
  auto program = program::parse_model_program(storage::text_of(bytes));
  if (!program)
    throw base::Error(base::ExitCode::kData, fmt::format("{}: {}; import the model again", path, program.error()));
  return *std::move(program);
}

ExportedHost imported_host(const std::string& folder) {
  auto host = config::read_exported_host(folder);
  if (!host) throw base::Error(base::ExitCode::kData, host.error());
  return *std::move(host);
}

std::string type_of(const torch::Tensor& tensor) {
  constexpr std::pair<torch::ScalarType, const char*> kTypes[] = {
      {torch::kFloat32, "float32"}, {torch::kFloat64, "float64"}, {torch::kInt64, "int64"},
      {torch::kInt32, "int32"},     {torch::kBool, "bool"},       {torch::kUInt8, "uint8"}};
  const auto found = std::ranges::find(kTypes, tensor.scalar_type(), &std::pair<torch::ScalarType, const char*>::first);
  ESPER_CHECK(found != std::end(kTypes), "a tensor of a type that no imported network has");
  return std::string("torch.") + found->second;
}

std::string zeros_of(const torch::Tensor& tensor) {
  return fmt::format("torch.zeros([{}], dtype={})", base::joined(tensor.sizes()), type_of(tensor));
}

// The seed that is part of the network behind that operation, and the value that it changes.
struct Growth {
  const Slot* slot = nullptr;
  config::ExportedSite::Cut cut;
};

std::vector<Growth> growth_of(const NetworkSource& source, const ExportedHost& host) {
  std::vector<Growth> all;
  for (const Slot& slot : source.network.structure.slots) {
    if (!is_part(slot)) continue;
    const auto site = std::ranges::find(host.sites, slot.site.path, &config::ExportedSite::path);
    ESPER_CHECK(site != host.sites.end(), "a slot that its imported host does not have");
    all.push_back({&slot, site->evaluation});
  }
  return all;
}

class CallsText {
 public:
  CallsText(const NetworkSource& source, const ModelProgram& model) : model_(model) {
    growth_ = growth_of(source, imported_host(source.host.path));
    if (model.body.is_for_all_sizes()) line("n = x.shape[0]");
    const auto& inputs = model.body.program.inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) input(source, i, inputs[i].name);
    const auto statements = program::operation_statements(model.body);
    for (std::size_t i = 0; i < statements.size(); ++i) {
      line(statements[i]);
      seeds_behind(i);
    }
    line(return_statement(source, name(model.output)));
  }
  const std::string& text() const { return text_; }

 private:
  void line(const std::string& statement) { text_.append(kIndent).append(statement).append("\n"); }
  std::string name(program::ValueId id) const { return program::value_name(model_.body, id); }

  void input(const NetworkSource& source, std::size_t index, const std::string& id) {
    const auto value = name(static_cast<program::ValueId>(index));
    if (id == program::kModelInput) return line(value + " = x");
    const bool learns = kasmina::find_parameter(source.network.host.tensors, id).defined();
    line(fmt::format("{} = self.get_{}({})", value, learns ? "parameter" : "buffer", python_literal(id)));
  }

  void seeds_behind(std::size_t operation) {
    for (const auto& [slot, cut] : growth_) {
      if (cut.operation != operation) continue;
      line("x = " + name(cut.value));
      for (const auto& statement : seed_statements(*slot->seed)) line(statement);
      line(name(cut.value) + " = x");
    }
  }

  const ModelProgram& model_;
  std::vector<Growth> growth_;
  std::string text_;
};

}  // namespace

std::string imported_network_class(const NetworkSource& source) {
  const auto model = evaluation_program(source.host.path);
  std::vector<std::string> tensors;
  const auto& table = source.network.host.tensors;
  for (const auto& each : table.parameters) {
    tensors.push_back(
        fmt::format("add_tensor(self, {}, nn.Parameter({}))", python_literal(each.id), zeros_of(each.tensor)));
  }
  for (const auto& each : table.buffers) {
    tensors.push_back(fmt::format("add_tensor(self, {}, {})", python_literal(each.id), zeros_of(each.tensor)));
  }
  return class_text(source, tensors, CallsText(source, model).text());
}

}  // namespace esper::porting
