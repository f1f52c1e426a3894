#pragma once
// Who decides in a measured run, so that each run does the same.

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "leyline/controller.h"

namespace esper::engine::bench {

// Germinates the first blueprint in the first slot after `first_epoch` epochs, takes the seed on as soon as its stage
// allows, and culls it `life` epochs after its birth; then starts over as soon as the slot is free.
std::unique_ptr<leyline::Controller> growing_controller(std::uint32_t first_epoch, std::uint32_t life);

// The same answers as `inner`, each after a wait.
std::unique_ptr<leyline::Controller> slow_controller(std::unique_ptr<leyline::Controller> inner, base::Duration wait);

}  // namespace esper::engine::bench
