#include "porting/python/network_class.h"

#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "kasmina/seed/widening.h"
#include "porting/python/imported_class.h"
#include "porting/python/python_call.h"
#include "porting/python/seed_text.h"

namespace esper::porting {
namespace {

using config::HostKind;
using kasmina::Slot;

// A host as a call of its class, and how its forward is written.
struct HostText {
  std::string call;                              // "Mlp(64, [32, 32], 10)"
  std::string begin;                             // what its first block takes, made from the input x; or empty
  std::vector<std::vector<std::string>> blocks;  // for each slot the modules before it: {"layer0", "layer1"}
  bool pools_at_end = false;                     // its head takes the mean over the pixels
};

std::string list_of(const std::vector<std::int64_t>& numbers) { return fmt::format("[{}]", base::joined(numbers)); }

std::int64_t numbers_in(const leyline::SampleShape& sample) {
  std::int64_t count = 1;
  for (const auto size : sample.sizes()) count *= size;
  return count;
}

std::vector<std::vector<std::string>> numbered_blocks(std::size_t count) {
  std::vector<std::vector<std::string>> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back({fmt::format("block{}", i)});
  return blocks;
}

HostText mlp_text(const NetworkSource& source) {
  auto named = dropout_argument(source.host.dropout);
  named.insert(named.begin(), {list_of(source.host.hidden), std::to_string(source.sample.num_classes)});
  return {python_call("Mlp", {numbers_in(source.sample)}, named), "x = x.flatten(1)",
          numbered_blocks(source.network.host.sites.size())};
}

HostText cnn_text(const NetworkSource& source) {
  const auto& host = source.host;
  std::vector<std::int64_t> channels;
  for (const auto& site : source.network.host.sites) channels.push_back(site.shape.channels);
  std::vector<std::string> named = {list_of(channels), std::to_string(source.sample.num_classes),
                                    fmt::format("kernel={}", host.kernel), fmt::format("pools={}", host.pool_layers)};
  if (host.residual_blocks > 0) named.push_back(fmt::format("residual_blocks={}", host.residual_blocks));
  return {python_call("Cnn", {source.sample.channels}, named), "", numbered_blocks(channels.size()), true};
}

HostText transformer_text(const NetworkSource& source) {
  const auto& host = source.host;
  HostText text{python_call("Transformer",
                            {source.sample.num_classes, source.sample.context, host.embedding, host.layers, host.heads},
                            dropout_argument(host.dropout)),
                "x = self.host.embed(x)",
                {}};
  std::int64_t layer = 0;
  for (std::int64_t segment = 1; segment <= host.segments; ++segment) {
    auto& block = text.blocks.emplace_back();
    for (; layer < segment * host.layers / host.segments; ++layer) block.push_back(fmt::format("layer{}", layer));
  }
  return text;
}

HostText host_text(const NetworkSource& source) {
  switch (source.host.kind) {
    case HostKind::kLinear:
      return {
          python_call("LinearHost", {numbers_in(source.sample), source.sample.num_classes}), "x = x.flatten(1)", {}};
    case HostKind::kMlp:
      return mlp_text(source);
    case HostKind::kCnn:
      return cnn_text(source);
    case HostKind::kTransformer:
      return transformer_text(source);
    case HostKind::kExported:
      break;
  }
  ESPER_CHECK(false, "a host of unknown kind");
  return {};
}

// Writes the forward, slot by slot.
class ForwardText {
 public:
  ForwardText(const NetworkSource& source, const HostText& host) : source_(source), host_(host) {
    if (!host.begin.empty()) line(host.begin);
    for (std::size_t i = 0; i < host.blocks.size(); ++i) block(i);
    head();
  }
  const std::string& text() const { return text_; }

 private:
  void line(const std::string& statement) { text_.append(kIndent).append(statement).append("\n"); }

  void block(std::size_t index) {
    const Slot& slot = source_.network.structure.slots[index];
    const auto& modules = host_.blocks[index];
    for (std::size_t i = 0; i + 1 < modules.size(); ++i) line(fmt::format("x = self.host.{}(x)", modules[i]));
    const std::string further = std::exchange(further_, "");
    const std::string arguments = further.empty() ? "x" : fmt::format("x, {}.outlet(more)", further);
    if (!is_part(slot)) {
      line(fmt::format("x = self.host.{}({})", modules.back(), arguments));
    } else if (kasmina::is_widening(*slot.seed)) {
      widened(slot, modules.back(), arguments);
    } else {
      line(fmt::format("x = self.host.{}({})", modules.back(), arguments));
      for (const auto& statement : seed_statements(*slot.seed)) line(statement);
    }
  }

  void widened(const Slot& slot, const std::string& module, const std::string& arguments) {
    const std::string seed = "self." + python_name(slot.seed->id);
    if (slot.seed->module.further.leads_to == kasmina::HiddenLayer::Outlet::kFeature) {
      line(fmt::format("x = self.host.{}({}, more={})", module, arguments, seed));
      return;
    }
    line(fmt::format("y = self.host.{}({})", module, arguments));
    line(fmt::format("x, more = y, {}(x, y)", seed));
    further_ = seed;
  }

  void head() {
    if (host_.pools_at_end) line("x = x.mean((2, 3))");
    if (further_.empty()) {
      line(return_statement(source_, "self.host.head(x)"));
      return;
    }
    line(return_statement(source_, fmt::format("self.host.head(x) + {}.outlet({})", further_,
                                               host_.pools_at_end ? "more.mean((2, 3))" : "more")));
  }

  const NetworkSource& source_;
  const HostText& host_;
  std::string text_;
  std::string further_;  // the module whose outlet the next layer adds
};

}  // namespace

std::string network_class(const NetworkSource& source) {
  if (source.host.kind == HostKind::kExported) return imported_network_class(source);
  const HostText host = host_text(source);
  return class_text(source, {"self.host = " + host.call}, ForwardText(source, host).text());
}

std::vector<kasmina::NamedTensor> network_values(const kasmina::NetworkState& network) {
  std::vector<kasmina::NamedTensor> values;
  const auto add = [&](const kasmina::TensorTable& table) {
    for (const auto* tensors : {&table.parameters, &table.buffers}) {
      for (const auto& [id, tensor] : *tensors) values.push_back({python_name(id), tensor.detach()});
    }
  };
  add(network.host.tensors);
  for (const auto& slot : network.structure.slots) {
    if (is_part(slot)) add(slot.seed->module.tensors);
  }
  return values;
}

}  // namespace esper::porting
