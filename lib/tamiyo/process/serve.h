#pragma once
// The other side of process_controller.h: one of our own controllers, in the process that was started for it.

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "base/text/line_channel.h"
#include "crypto/mac.h"
#include "leyline/controller.h"

namespace esper::tamiyo {

// start: what the run sends of itself. May throw: the run gets the reason.
using MakeController = std::function<std::unique_ptr<leyline::Controller>(const nlohmann::json& start)>;

// Answers questions until the run closes its side. Throws std::runtime_error where it sends what is no question.
void serve_controller(base::LineChannel channel, const crypto::MacKey& key, const MakeController& make,
                      base::Clock clock = {});

}  // namespace esper::tamiyo
