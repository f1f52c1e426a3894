#pragma once
#include <string>
#include <vector>

#include "config/fields/field_table.h"
#include "config/yaml/yaml_document.h"

namespace esper::config {

// Reads one field (no section) from a node into the config that the row points into. What is wrong goes to `problems`;
// the field then keeps the value that it had. Strict: quoted numbers, octal-looking numbers, yes/no/on/off, bare
// true/false where text is expected, control characters in texts and numbers that are not finite are problems.
void read_value(const FieldRow& row, const YamlNode& node, std::vector<base::Problem>& problems);

}  // namespace esper::config
