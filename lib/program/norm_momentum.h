#pragma once
// The momentum with which a model's own batch norms move their running statistics. Any thread.

#include <map>
#include <string>

#include "program/model_program.h"

namespace esper::program {

// By the name of a running mean or variance. model: of the training forward. Statistics that no norm of the program
// moves are not in it.
std::map<std::string, double> norm_momenta(const ModelProgram& model);

}  // namespace esper::program
