// Completion scripts, made from the command tree itself.
#include <nlohmann/json.hpp>

#include "base/text/joined.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

struct Word {
  std::string text, help;
};

// One place in the command tree: "esper config" with what may follow it.
struct Spot {
  std::vector<std::string> path;
  std::vector<Word> commands, options;
  bool takes_jobs = false;

  std::string name() const { return base::joined(path, " "); }
};

void collect(const CLI::App& app, std::vector<std::string> path, std::vector<Spot>& spots) {
  path.push_back(app.get_name());
  Spot spot{path, {}, {}, false};
  for (const CLI::App* command : listed_commands(app)) {
    spot.commands.push_back({command->get_name(), command->get_description()});
  }
  for (const CLI::Option* option : app.get_options()) {
    spot.takes_jobs |= option->get_positional() && option->get_type_name() == "JOB";
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames())
      spot.options.push_back({"--" + name, option->get_description()});
  }
  spots.push_back(spot);
  for (const CLI::App* command : listed_commands(app)) collect(*command, path, spots);
}

std::string listed(const std::vector<Word>& words) { return base::joined(words, " ", &Word::text); }

// Of a daemon that runs; empty where none does.
constexpr const char* kJobIds = "$(esper jobs --ids 2>/dev/null)";

// In bash and zsh alike: follows the words before the cursor down the tree, then offers what fits there.
std::string shell_cases(const std::vector<Spot>& spots) {
  std::string steps, cases;
  for (const Spot& spot : spots) {
    if (spot.path.size() > 1) steps += (steps.empty() ? "" : "|") + ("\"" + spot.name() + "\"");
    cases += "    \"" + spot.name() + "\") commands=\"" + (spot.takes_jobs ? kJobIds : listed(spot.commands)) +
             "\" options=\"" + listed(spot.options) + "\" ;;\n";
  }
  return "  for word in \"${before[@]}\"; do\n"
         "    case \"$path $word\" in\n      " +
         steps +
         ") path=\"$path $word\" ;;\n    esac\n  done\n"
         "  case \"$path\" in\n" +
         cases + "  esac\n";
}

std::string bash_script(const std::vector<Spot>& spots) {
  return "_esper() {\n"
         "  local word path=esper commands options current=${COMP_WORDS[COMP_CWORD]}\n"
         "  local before=(\"${COMP_WORDS[@]:1:COMP_CWORD-1}\")\n" +
         shell_cases(spots) +
         "  [[ $current == -* ]] && commands=$options\n"
         "  COMPREPLY=($(compgen -W \"$commands\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _esper esper\n";
}

std::string zsh_script(const std::vector<Spot>& spots) {
  return "#compdef esper\n"
         "_esper() {\n"
         "  local word path=esper commands options\n"
         "  local -a before=(\"${words[@]:1:$((CURRENT-2))}\")\n" +
         shell_cases(spots) +
         "  if [[ $words[CURRENT] == -* ]]; then\n"
         "    compadd -- ${=options}\n"
         "  elif [[ -n $commands ]]; then\n"
         "    compadd -- ${=commands}\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "compdef _esper esper\n";
}

// Inside single quotes of fish.
std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_script(const std::vector<Spot>& spots) {
  std::string text;
  for (const Spot& spot : spots) {
    std::string condition;
    for (std::size_t i = 1; i < spot.path.size(); ++i) {
      condition += (i == 1 ? "" : "; and ") + ("__fish_seen_subcommand_from " + spot.path[i]);
    }
    if (!spot.commands.empty()) {
      condition += (condition.empty() ? "" : "; and ") + ("not __fish_seen_subcommand_from " + listed(spot.commands));
    }
    const std::string start = "complete -c esper -n " + fish_quoted(condition);
    for (const Word& word : spot.commands)
      text += start + " -f -a " + word.text + " -d " + fish_quoted(word.help) + "\n";
    if (spot.takes_jobs) text += start + " -f -a " + fish_quoted("(esper jobs --ids 2>/dev/null)") + "\n";
    for (const Word& word : spot.options) {
      text += start + " -l " + word.text.substr(2) + " -d " + fish_quoted(word.help) + "\n";
    }
  }
  return text;
}

std::string script_for(const std::string& shell, const CLI::App& root) {
  std::vector<Spot> spots;
  collect(root, {}, spots);
  if (shell == "bash") return bash_script(spots);
  if (shell == "zsh") return zsh_script(spots);
  return fish_script(spots);
}

}  // namespace

void add_completion(Front& front) {
  CLI::App* command = add_command(front.root, "completion", "Print a completion script for a shell",
                                  "esper completion bash > ~/.local/share/bash-completion/completions/esper");
  struct Options {
    std::string shell;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  command->add_option("shell", options->shell, "bash, zsh or fish")
      ->required()
      ->type_name("SHELL")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  add_json_flag(*command, options->json);
  command->callback([&front, options] {
    front.run = [&front, options] {
      const std::string script = script_for(options->shell, front.root);
      if (options->json) {
        print_json(nlohmann::ordered_json{{"shell", options->shell}, {"script", script}});
      } else {
        print(script);
      }
      return 0;
    };
  });
}

}  // namespace esper
