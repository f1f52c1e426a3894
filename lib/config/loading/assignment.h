#pragma once
// An assignment on the command line, "--set training.optimizer.lr=0.1". Any thread.

#include <string>

#include "config/yaml/yaml_document.h"

namespace esper::config {

// What the places of its document have for a file: "--set a.b=value", the end of a long one left out.
std::string assignment_origin(const std::string& text);

// "a.b=value" as its own document, with the problems of reading it. Every place in it is the assignment.
YamlDocument assignment_document(const std::string& text);

}  // namespace esper::config
