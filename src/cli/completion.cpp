#include "cli/completion.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "cli/usage.h"
#include "net/http.h"
#include "policies/registry.h"

namespace sl::cli {
namespace {

constexpr double patience_s = 0.1;

// The jobs that a command is for. Others take any.
constexpr std::pair<std::string_view, const char*> jobs_of_command[] = {
    {"cancel", unfinished_states},  {"suspend", unfinished_states}, {"resume", "held,suspended"},
    {"migrate", unfinished_states}, {"scale", unfinished_states},   {"set", unfinished_states},
    {"wait", unfinished_states},    {"why", unfinished_states},     {"retry", finished_states},
    {"rm", finished_states},
};

// Values of flags and arguments that are the same everywhere.
constexpr std::pair<std::string_view, const char*> words_of_option[] = {
    {"--state", "pending,held,starting,running,suspended,migrating,resizing,stopping,succeeded,failed,cancelled"},
    {"--launch", "none,torchrun,ranks,mpi,horovod"},
    {"--checkpoint-signal", "TERM,INT,HUP,QUIT,USR1,USR2"},
};

template <typename Table>
const char* find_in(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, [](const auto& row) { return row.first; });
  return found == std::end(table) ? nullptr : found->second;
}

std::vector<Candidate> split(std::string_view words, char separator) {
  std::vector<Candidate> candidates;
  while (!words.empty()) {
    candidates.push_back({std::string(words.substr(0, words.find(separator))), ""});
    words.remove_prefix(std::min(words.size(), candidates.back().word.size() + 1));
  }
  return candidates;
}

class Completion {
 public:
  Completion(const CLI::App& root, const Context& context) : root_(root), context_(context) {}

  std::vector<Candidate> of(const std::vector<std::string>& words) {
    const std::string& last = words.back();
    const CLI::App* at = &root_;
    const CLI::Option* expects = nullptr;  // the flag whose value comes next
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "--") return {};  // the job's own command
      if (std::exchange(expects, nullptr)) continue;
      if (const CLI::Option* flag = flag_of(*at, words[i])) {
        const bool has_value = words[i].find('=') != std::string::npos;
        if (!has_value && flag->get_items_expected_min() > 0) expects = flag;
      } else if (CLI::App* inner = find_command(*at, words[i])) {
        at = inner;
      }
    }
    if (expects) return values_of(*at, *expects);
    if (const std::size_t equals = last.find('='); last.starts_with("--") && equals != std::string::npos) {
      const CLI::Option* flag = flag_of(*at, last);
      std::vector<Candidate> values = flag ? values_of(*at, *flag) : std::vector<Candidate>();
      for (Candidate& value : values) value.word.insert(0, last, 0, equals + 1);
      return values;
    }
    if (last.starts_with("-")) return flags_of(*at);
    if (const auto inner = commands_of(*at); !inner.empty()) return commands(inner);
    return arguments_of(*at);
  }

 private:
  const CLI::Option* flag_of(const CLI::App& at, const std::string& word) const {
    if (!word.starts_with("-")) return nullptr;
    const std::string name = word.substr(0, word.find('='));
    const CLI::Option* flag = at.get_option_no_throw(name);
    return flag ? flag : root_.get_option_no_throw(name);
  }

  std::vector<Candidate> flags_of(const CLI::App& at) const {
    std::vector<Candidate> candidates;
    for (const CLI::App* level : {&at, &root_}) {
      for (const CLI::Option* option : level->get_options()) {
        for (const std::string& name : option->get_lnames())
          candidates.push_back({"--" + name, option->get_description()});
      }
      if (level == &root_) break;
    }
    return candidates;
  }

  static std::vector<Candidate> commands(const std::vector<CLI::App*>& apps) {
    std::vector<Candidate> candidates;
    for (const CLI::App* app : apps) candidates.push_back({app->get_name(), app->get_description()});
    return candidates;
  }

  std::vector<Candidate> values_of(const CLI::App& at, const CLI::Option& option) const {
    const std::string name = option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front();
    if (const char* words = find_in(words_of_option, name)) return split(words, ',');
    if (const std::string words = words_of(option); !words.empty()) return split(words, '|');
    if (name == "--after" || name == "--after-any" || name == "--group") return jobs("");
    if (name == "--to" || name == "--server") return servers();
    if (name == "--policy" || name == "--policies") return policies();
    return arguments_like(at, name);
  }

  std::vector<Candidate> arguments_of(const CLI::App& at) const {
    for (const CLI::Option* option : at.get_options()) {
      if (option->get_positional()) return arguments_like(at, option->get_name());
    }
    return {};
  }

  std::vector<Candidate> arguments_like(const CLI::App& at, const std::string& name) const {
    const std::string parent = at.get_parent() ? at.get_parent()->get_name() : "";
    if (name == "job" || name == "jobs") {
      const char* states = find_in(jobs_of_command, at.get_name());
      return jobs(states ? states : "");
    }
    if (name == "name" && parent == "servers") return servers();
    if (name == "name" && parent == "policy") return policies();
    if (name == "family") return listed("/api/v1/profiles", "family", "origin");
    if (name == "command") return commands(commands_of(root_));
    if (const CLI::Option* option = at.get_option_no_throw(name)) return split(words_of(*option), '|');
    return {};
  }

  std::vector<Candidate> servers() const { return listed("/api/v1/servers", "name", "state"); }

  // The program's own, if no controller answers.
  static std::vector<Candidate> policies() {
    std::vector<Candidate> candidates;
    for (const PolicyEntry& entry : sl::policies()) candidates.push_back({entry.info.name, entry.info.summary});
    return candidates;
  }

  std::vector<Candidate> jobs(const std::string& states) const {
    std::vector<Candidate> candidates = listed(
        "/api/v1/jobs?limit=200&fields=id,name,state" + (states.empty() ? "" : "&state=" + net::percent_encode(states)),
        "id", "name");
    return candidates;
  }

  std::vector<Candidate> listed(const std::string& path, const char* word, const char* help) const {
    std::vector<Candidate> candidates;
    const auto list = context_.get(path);
    if (!list.ok() || !value_at(*list, "items").is_array()) return candidates;
    for (const json::value& item : value_at(*list, "items").get_array()) {
      const json::value& value = value_at(item, word);
      const std::string state = text_at(item, "state");
      const bool is_number = value.is_number();
      candidates.push_back(
          {is_number ? std::to_string(static_cast<std::int64_t>(value.to_number<double>())) : text_at(item, word),
           text_at(item, help) + (is_number && !state.empty() ? ", " + state : "")});
    }
    return candidates;
  }

  const CLI::App& root_;
  const Context& context_;
};

}  // namespace

std::vector<Candidate> complete(const CLI::App& root, const std::vector<std::string>& words, Context context) {
  if (words.empty()) return {};
  context.timeout_s = patience_s;
  std::vector<Candidate> candidates = Completion(root, context).of(words);
  std::erase_if(candidates, [&](const Candidate& candidate) { return !candidate.word.starts_with(words.back()); });
  for (Candidate& candidate : candidates) std::ranges::replace(candidate.help, '\t', ' ');
  return candidates;
}

namespace {

// Bash shows what help there is while several words are possible, as kubectl does, and inserts the word alone.
constexpr const char* bash_script =
    R"sh(# bash completion of schedulearn; for one shell:  source <(schedulearn completion bash)
_schedulearn() {
  local word help line=${COMP_LINE:0:COMP_POINT} current words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current=${words[-1]}
  COMPREPLY=()
  local -a found=() helps=()
  while IFS=$'\t' read -r word help; do
    [[ -n $word ]] || continue
    [[ $current == *=* && $COMP_WORDBREAKS == *=* ]] && word=${word#*=}
    found+=("$word")
    helps+=("$help")
  done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  local i
  for i in "${!found[@]}"; do
    if ((${#found[@]} > 1)) && [[ $COMP_TYPE == 63 && -n ${helps[i]} ]]; then
      COMPREPLY+=("${found[i]}  (${helps[i]:0:60})")
    else
      COMPREPLY+=("${found[i]}")
    fi
  done
}
complete -o default -F _schedulearn schedulearn slearn
)sh";

constexpr const char* zsh_script = R"sh(#compdef schedulearn slearn
# zsh completion of schedulearn; in a folder of $fpath as _schedulearn, or:  source <(schedulearn completion zsh)
_schedulearn() {
  local word help
  local -a found
  while IFS=$'\t' read -r word help; do
    [[ -n $word ]] && found+=("${word//:/\\:}:$help")
  done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#found} )); then
    _describe -V 'schedulearn' found
  else
    _files
  fi
}
if [[ $funcstack[1] == _schedulearn ]]; then
  _schedulearn "$@"
else
  compdef _schedulearn schedulearn slearn
fi
)sh";

constexpr const char* fish_script =
    R"sh(# fish completion of schedulearn:  schedulearn completion fish > ~/.config/fish/completions/schedulearn.fish
function __schedulearn_complete
    set -l words (commandline -opc)
    $words[1] __complete $words[2..] (commandline -ct) 2>/dev/null
end
complete -c schedulearn -k -a '(__schedulearn_complete)'
complete -c slearn -k -a '(__schedulearn_complete)'
)sh";

}  // namespace

const char* completion_script(const std::string& shell) {
  return shell == "bash" ? bash_script : shell == "zsh" ? zsh_script : shell == "fish" ? fish_script : nullptr;
}

}  // namespace sl::cli
