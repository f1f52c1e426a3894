#pragma once
// A network as one Python file that needs PyTorch alone. Training thread.

#include <string>

#include "data/preprocessing.h"
#include "porting/python/network_class.h"

namespace esper::porting {

// The file's text: Network, preprocess(), CLASS_NAMES, build(), load(). Of `preprocessing` the shape is the source's.
// Outputs of a network that learned standardised targets are in the data's units. `title`: one line that says what it
// is.
std::string python_file(NetworkSource source, const data::Preprocessing& preprocessing, const std::string& title);

}  // namespace esper::porting
