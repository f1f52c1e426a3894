#include "esper/command_line.h"

#include <algorithm>
#include <ranges>
#include <string_view>

#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "config/fields/field_table.h"
#include "config/fields/other_names.h"

namespace esper {
namespace {

constexpr std::string_view kSet = "--set", kConfig = "--config";

// One of a misspelt field, too: it is reported as such.
bool is_assignment(std::string_view word) {
  const auto is_of_key = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 && std::ranges::all_of(word.substr(0, equals), is_of_key);
}

// Places of the words that follow an assignment of --set and are one, too.
std::vector<std::size_t> further_assignments(const std::vector<std::string>& words) {
  std::vector<std::size_t> places;
  bool follows = false;  // the word before is an assignment of --set
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == kSet && i + 1 < words.size()) {
      ++i;
      follows = true;
      continue;
    }
    const bool is_first = words[i].starts_with("--set=");
    follows = is_first || (follows && is_assignment(words[i]));
    if (follows && !is_first) places.push_back(i);
  }
  return places;
}

bool lacks_positional(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
  return std::ranges::any_of(app->get_options(), [](const CLI::Option* option) {
    return option->get_positional() && option->get_required() && option->count() == 0;
  });
}

void add_option_names(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
}

// Down to the command that was parsed; options of those above it count as well.
std::vector<std::string> option_names(const CLI::App& root) {
  std::vector<std::string> names;
  const CLI::App* app = &root;
  add_option_names(*app, names);
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().back();
    add_option_names(*app, names);
  }
  return names;
}

std::string quoted(const std::string& word) { return "\"" + word + "\""; }

// The field or section of a run file that an option is called after: "batch-size" is data.batch_size. Empty: there is
// none, or several.
std::string field_called(std::string name) {
  std::ranges::replace(name, '-', '_');
  if (const auto other = config::field_of_other_name(name); !other.empty()) name = other;
  config::RunConfig config;
  std::vector<std::string> found;
  for (const auto& row : config::field_table(config)) {
    if (row.path != name && row.key() != name) continue;
    const auto path = row.is_section() ? row.path + ".KEY" : row.path;
    if (row.path == name) return path;
    found.push_back(path);
  }
  return found.size() == 1 ? found.front() : "";
}

// Where `word` is no option, but a run file has a field of that name.
std::string hint_of_field(const std::string& word) {
  if (!word.starts_with("--")) return "";
  const auto equals = std::min(word.find('='), word.size());
  const auto field = field_called(word.substr(2, equals - 2));
  if (field.empty()) return "";
  return " (write --set " + field + (equals == word.size() ? "=VALUE" : word.substr(equals)) + ")";
}

// The remedy for one word; empty if none is known.
std::string hint_for(const std::string& word, const std::vector<std::string>& options) {
  const bool takes_set = std::find(options.begin(), options.end(), kSet) != options.end();
  if (takes_set && !word.starts_with('-') && word.find('=') != std::string::npos) return " (write --set " + word + ")";
  if (const auto hint = takes_set ? hint_of_field(word) : ""; !hint.empty()) return hint;
  const bool takes_config = std::find(options.begin(), options.end(), kConfig) != options.end();
  if (takes_config && word.ends_with(".yaml")) return " (write " + std::string(kConfig) + " " + word + ")";
  const std::size_t from = std::min(word.find_first_not_of('-'), word.size());
  const std::string name = word.substr(from, word.find('=', from) - from);
  constexpr std::size_t kShortest = 2;
  const auto close = name.size() < kShortest ? std::nullopt : base::nearest("--" + name, options);
  const bool may_be_meant = close && (word.starts_with('-') || *close == "--" + name);
  return may_be_meant ? " (did you mean " + *close + "?)" : "";
}

}  // namespace

std::vector<std::string> with_separate_assignments(const std::vector<std::string>& words) {
  std::vector<std::string> out = words;
  for (const std::size_t place : further_assignments(words) | std::views::reverse)
    out.emplace(out.begin() + static_cast<std::ptrdiff_t>(place), kSet);
  return out;
}

std::string missing_behind_set(const CLI::App& root, const std::vector<std::string>& words) {
  const auto places = further_assignments(words);
  if (places.empty() || !lacks_positional(root)) return "";
  const auto read = base::joined(places, ", ", [&](std::size_t place) { return quoted(words[place]); });
  if (places.size() > 1)
    return read + " were read as assignments of --set; write a path among them as ./PATH, or put it before --set";
  return read + " was read as an assignment of --set; write ./" + words[places.front()] + ", or put it before --set";
}

std::string unexpected_arguments(const CLI::App& root, const std::string& command) {
  const std::vector<std::string> words = root.remaining(true);
  const std::vector<std::string> options = option_names(root);
  const auto list = base::joined(words | std::views::filter([](const std::string& word) { return word != "--"; }), ", ",
                                 [&](const std::string& word) { return quoted(word) + hint_for(word, options); });
  return list.empty() ? "" : command + " does not take " + list;
}

}  // namespace esper
