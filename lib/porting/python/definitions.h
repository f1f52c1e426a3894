#pragma once
// The Python files beside this one, as texts to write an exported network with. Any thread.

#include <string>
#include <string_view>

namespace esper::porting {

// The definitions of hosts.py and modules.py that `text` names, and those that they name themselves, in the files'
// order. A name counts where it is called or inherited from.
std::string definitions_for(const std::string& text);

// numbers.py, tokens.py, token_numbers.py and loading.py without what precedes their first definition.
std::string_view preprocessing_of_numbers();
std::string_view preprocessing_of_text();
std::string_view preprocessing_of_tokens();
std::string_view loading();

}  // namespace esper::porting
