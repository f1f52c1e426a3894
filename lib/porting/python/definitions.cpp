#include "porting/python/definitions.h"

#include <vector>

#include "base/text/ascii.h"
#include "porting_hosts.h"
#include "porting_loading.h"
#include "porting_modules.h"
#include "porting_numbers.h"
#include "porting_token_numbers.h"
#include "porting_tokens.h"

namespace esper::porting {
namespace {

struct Definition {
  std::string_view name, text;  // text: with the empty lines behind it
};

bool opens_definition(std::string_view line) { return line.starts_with("class ") || line.starts_with("def "); }

// Where the next definition begins, from a line's beginning on; the text's end where none does.
std::size_t next_definition(std::string_view text, std::size_t from) {
  while (from < text.size() && !opens_definition(text.substr(from))) {
    const auto end = text.find('\n', from);
    from = end == std::string_view::npos ? text.size() : end + 1;
  }
  return from;
}

std::vector<Definition> definitions_in(std::string_view text) {
  std::vector<Definition> found;
  for (auto begin = next_definition(text, 0); begin < text.size();) {
    const auto name = text.find(' ', begin) + 1;
    const auto end = next_definition(text, text.find('\n', begin) + 1);
    found.push_back({text.substr(name, text.find_first_of("(:", name) - name), text.substr(begin, end - begin)});
    begin = end;
  }
  return found;
}

const std::vector<Definition>& all_definitions() {
  static const auto all = [] {
    auto definitions = definitions_in(kHosts);
    const auto modules = definitions_in(kModules);
    definitions.insert(definitions.end(), modules.begin(), modules.end());
    return definitions;
  }();
  return all;
}

bool is_word(char c) { return base::is_alphanumeric_or(c, "_"); }

bool is_named_in(std::string_view text, std::string_view name) {
  for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const char before = at == 0 ? '\n' : text[at - 1],
               after = at + name.size() < text.size() ? text[at + name.size()] : '\n';
    if (is_word(before) || before == '.') continue;
    if (after == '(' || (before == '(' && after == ')')) return true;
  }
  return false;
}

std::string_view from_first_definition(std::string_view text) { return text.substr(next_definition(text, 0)); }

}  // namespace

std::string definitions_for(const std::string& text) {
  const auto& all = all_definitions();
  std::vector<bool> taken(all.size());
  std::vector<std::string_view> open = {text};
  while (!open.empty()) {
    const std::string_view user = open.back();
    open.pop_back();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (taken[i] || !is_named_in(user, all[i].name)) continue;
      taken[i] = true;
      open.push_back(all[i].text);
    }
  }
  std::string found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (taken[i]) found.append(all[i].text.substr(0, all[i].text.find_last_not_of('\n') + 1)).append("\n\n\n");
  }
  return found;
}

std::string_view preprocessing_of_numbers() { return from_first_definition(kNumbers); }
std::string_view preprocessing_of_text() { return from_first_definition(kTokens); }
std::string_view preprocessing_of_tokens() { return from_first_definition(kTokenNumbers); }
std::string_view loading() { return from_first_definition(kLoading); }

}  // namespace esper::porting
