#include "esper/command_line.h"

#include <algorithm>

#include "base/text/joined.h"
#include "base/text/nearest.h"

namespace esper {
namespace {

constexpr std::string_view kSet = "--set", kConfig = "--config";

// One of a misspelt field, too: it is reported as such. With a slash before the "=" it is a path.
bool is_assignment(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.front() != '-' && word.find('/') > equals;
}

void add_option_names(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
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

// The remedy for one word; empty if none is known.
std::string hint_for(const std::string& word, const std::vector<std::string>& options) {
  const bool takes_set = std::find(options.begin(), options.end(), kSet) != options.end();
  if (takes_set && !word.starts_with('-') && word.find('=') != std::string::npos) return " (write --set " + word + ")";
  const bool takes_config = std::find(options.begin(), options.end(), kConfig) != options.end();
  if (takes_config && word.ends_with(".yaml")) return " (write " + std::string(kConfig) + " " + word + ")";
  const std::size_t from = std::min(word.find_first_not_of('-'), word.size());
  const std::string name = word.substr(from, word.find('=', from) - from);
  constexpr std::size_t kShortest = 2;
  const auto close = name.size() < kShortest ? std::nullopt : base::nearest("--" + name, options);
  return close ? " (did you mean " + *close + "?)" : "";
}

}  // namespace

std::vector<std::string> with_separate_assignments(const std::vector<std::string>& words) {
  const bool sets = std::any_of(words.begin(), words.end(), [](const auto& word) { return word.starts_with(kSet); });
  if (!sets) return words;
  std::vector<std::string> out;
  bool follows = false;  // the word before is an assignment of --set
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      out.insert(out.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (word == kSet && i + 1 < words.size()) {
      out.push_back(word);
      out.push_back(words[++i]);
      follows = true;
      continue;
    }
    follows = (follows && is_assignment(word)) || word.starts_with("--set=");
    if (follows && !word.starts_with("--")) out.emplace_back(kSet);
    out.push_back(word);
  }
  return out;
}

std::string unexpected_arguments(const CLI::App& root, const std::string& command) {
  const std::vector<std::string> words = root.remaining(true);
  const std::vector<std::string> options = option_names(root);
  const auto list = base::joined(words | std::views::filter([](const std::string& word) { return word != "--"; }), ", ",
                                 [&](const std::string& word) { return quoted(word) + hint_for(word, options); });
  return list.empty() ? "" : command + " does not take " + list;
}

}  // namespace esper
