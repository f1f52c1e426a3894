#include "config/entries/slot_module.h"

#include "base/text/printable.h"
#include "leyline/slot_id.h"

namespace esper::config {

base::Expected<SlotModule> SlotModule::parse(std::string_view text) {
  const auto equals = text.find('=');
  const bool is_whole = equals != std::string_view::npos && equals + 1 < text.size();
  if (!is_whole || !leyline::is_slot_id(text.substr(0, equals))) {
    return base::failure(base::in_quotes(text) + " must name a slot and a blueprint, like r0c0=conv_heavy");
  }
  return SlotModule{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

}  // namespace esper::config
