#pragma once
// Learning rate and weight decay of some of the host's parameters, as a configuration writes them. Any thread.

#include <optional>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace esper::config {

struct GroupRule {
  std::string pattern;                 // of parameters' names: '*' stands for any text
  double lr = 1;                       // factor on the learning rate
  std::optional<double> weight_decay;  // in place of the optimizer's

  // Of "features.*:lr=0.1,weight_decay=0".
  static base::Expected<GroupRule> parse(std::string_view text);
};

}  // namespace esper::config
