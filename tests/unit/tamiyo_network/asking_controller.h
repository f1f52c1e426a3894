#pragma once
// A controller that asks the network about the graph it is given and keeps the answer.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "leyline/controller.h"
#include "outputs.h"
#include "tamiyo/graph/graph_network.h"

namespace esper::test {

struct Conversation {
  tamiyo::HeteroGraph graph;
  std::vector<float> answer = {};
  std::string loaded = {};  // the state that was loaded last
};

class AskingController final : public leyline::Controller {
 public:
  AskingController(tamiyo::GraphNetwork network, Conversation& conversation)
      : network_(std::move(network)), conversation_(conversation) {}

  leyline::Decision decide(const leyline::Observation&) override {
    conversation_.answer = flat(network_(conversation_.graph).value());
    return {};
  }
  std::string save_state() const override { return "{}"; }
  void load_state(const std::string& text) override { conversation_.loaded = text; }

 private:
  tamiyo::GraphNetwork network_;
  Conversation& conversation_;
};

inline auto asks_about(Conversation& conversation) {
  return [&conversation](tamiyo::GraphNetwork network) {
    return std::make_unique<AskingController>(std::move(network), conversation);
  };
}

}  // namespace esper::test
