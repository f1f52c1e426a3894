#pragma once
#include <string>
#include <vector>

#include "leyline/config/field_table.h"
#include "leyline/yaml_document.h"

namespace esper::leyline {

// Reads one field (no section) from a node into the config that the row points into. What is wrong goes to `problems`;
// the field then keeps the value that it had. Strict: quoted numbers, octal-looking numbers, yes/no/on/off, bare
// true/false where text is wanted, control characters in texts and numbers that are not finite are problems.
void read_value(const FieldRow& row, const YamlNode& node, std::vector<Problem>& problems);

}  // namespace esper::leyline
