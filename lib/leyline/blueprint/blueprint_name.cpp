#include "leyline/blueprint/blueprint_name.h"

#include <fmt/core.h>

#include "base/parse_number.h"
#include "base/text/printable.h"

namespace esper::leyline {

base::Expected<BlueprintName> BlueprintName::parse(std::string_view text) {
  BlueprintName name{std::string(without_copies(text))};
  if (name.plain.size() == text.size()) return name;
  const std::string_view count = text.substr(name.plain.size() + 1);
  name.copies = base::parse_number<decltype(name.copies)>(count).value_or(0);
  if (name.copies < 1 || name.copies > kMostCopies) {
    return base::failure(fmt::format("in {}, {} is not a number of copies, 1 to {}; write it like copy_block*2",
                                     base::in_quotes(text), base::in_quotes(count), kMostCopies));
  }
  return name;
}

std::string BlueprintName::text() const { return copies == 1 ? plain : fmt::format("{}*{}", plain, copies); }

std::string_view without_copies(std::string_view blueprint) { return blueprint.substr(0, blueprint.find('*')); }

}  // namespace esper::leyline
