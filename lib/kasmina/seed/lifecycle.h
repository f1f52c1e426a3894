#pragma once
// The stages of a slot and the moves between them: one table defines which are legal. Any thread.

#include <optional>
#include <string>

#include "leyline/seed.h"

namespace esper::kasmina {

struct IllegalMove {
  leyline::Stage from, to;
  // "TRAINING cannot become SHADOWING; from TRAINING a slot may move to BLENDING or CULLED"
  std::string text() const;
};

// Empty if the move is in the table (reference 2.1), else the error that names it.
std::optional<IllegalMove> check_move(leyline::Stage from, leyline::Stage to);

// GERMINATED to FOSSILIZED: the slot holds a module.
bool holds_seed(leyline::Stage stage);
// GERMINATED to PROBATIONARY: the module is on trial.
bool is_growing(leyline::Stage stage);

}  // namespace esper::kasmina
