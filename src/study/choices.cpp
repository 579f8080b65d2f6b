#include "study/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "wire/job_spec.h"

namespace sl::study {
namespace {

constexpr std::size_t most_numbers = 10'000;
constexpr double load_max = 100;

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// "3" and "3..3" are the same range.
std::pair<std::string, std::string> ends_of(const std::string& range) {
  const std::size_t dots = range.find("..");
  if (dots == std::string::npos) return {range, range};
  return {range.substr(0, dots), range.substr(dots + 2)};
}

struct Grid {  // one parameter with the values to try
  std::string policy, name;
  std::string values;  // as typed
  bool used = false;
};

Result<std::vector<Grid>> parse_grid(const std::vector<std::string>& parameters) {
  std::vector<Grid> grid;
  for (const std::string& text : parameters) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return invalid("bad-parameter", "--param takes NAME=VALUE, not " + text)
          .hint(
              "--param knob=8, or several values: --param knob=4,8, or of one policy: --param tiresias.promote_knob=2");
    std::string name = text.substr(0, equals), policy;
    if (const std::size_t dot = name.rfind('.'); dot != std::string::npos) {
      policy = name.substr(0, dot);
      name = name.substr(dot + 1);
    }
    grid.push_back({policy, name, text.substr(equals + 1)});
  }
  return grid;
}

bool is_for(const Grid& grid, const PolicyEntry& entry, bool alone) {
  if (!grid.policy.empty()) return grid.policy == entry.info.name;
  if (alone) return true;  // a wrong name is then reported by the policy itself
  return std::any_of(entry.info.parameters.begin(), entry.info.parameters.end(),
                     [&](const auto& parameter) { return parameter.name == grid.name; });
}

using SharedEntry = std::shared_ptr<const PolicyEntry>;

SharedEntry built_in(const PolicyEntry& entry) { return {SharedEntry(), &entry}; }  // it lives as long as the program

Result<SharedEntry> find_entry(const std::string& name, const PolicyReader& reader) {
  if (const PolicyEntry* entry = find_policy(name)) return built_in(*entry);
  if (!reader || !name.ends_with(".py")) return unknown_policy(name);
  auto read = reader(name);
  if (!read.ok()) return read.error();
  return SharedEntry(std::make_shared<const PolicyEntry>(std::move(*read)));
}

std::vector<PolicyChoice> combine(const SharedEntry& shared, std::vector<Grid>& grid, bool alone) {
  const PolicyEntry& entry = *shared;
  const bool is_built_in = find_policy(entry.info.name) == &entry;
  std::vector<PolicyChoice> choices = {{entry.info.name, {}, is_built_in ? nullptr : shared}};
  for (Grid& parameter : grid) {
    if (!is_for(parameter, entry, alone)) continue;
    parameter.used = true;
    std::vector<PolicyChoice> more;
    for (const PolicyChoice& choice : choices) {
      for (const std::string& value :
           split_values(find_parameter(entry.info.parameters, parameter.name), parameter.values)) {
        more.push_back(choice);
        more.back().parameters.emplace_back(parameter.name, value);
      }
    }
    choices = std::move(more);
  }
  return choices;
}

}  // namespace

Result<std::vector<std::int64_t>> parse_numbers(const std::string& text, const std::string& flag) {
  std::vector<std::int64_t> numbers;
  for (const std::string& range : split_values(nullptr, text)) {
    const auto [from, to] = ends_of(range);
    const auto first = number<std::int64_t>(from), last = number<std::int64_t>(to);
    const bool sensible = first && last && *first >= 1 && *first <= *last &&
                          static_cast<std::size_t>(*last - *first) < most_numbers - numbers.size();
    if (!sensible)
      return invalid("bad-flag", fmt::format("{} takes up to {} whole numbers from 1 to {}, not {}", flag, most_numbers,
                                             INT64_MAX, text))
          .hint(flag + " 1..10 or 1,2,5");
    for (std::int64_t i = *first; i <= *last; ++i) {
      if (std::ranges::find(numbers, i) == numbers.end()) numbers.push_back(i);
    }
  }
  return numbers;
}

Result<std::vector<double>> parse_loads(const std::string& text) {
  std::vector<double> loads;
  for (const std::string& each : split_values(nullptr, text)) {
    const auto load = number<double>(each);
    if (!load || !(*load > 0) || *load > load_max || loads.size() == most_numbers)
      return invalid("bad-flag", "--load takes parts of what the cluster can do, not " + text)
          .hint("--load 0.5,0.8,1.1");
    loads.push_back(*load);
  }
  return loads;
}

Result<std::vector<PolicyChoice>> choose_policies(const std::vector<std::string>& names,
                                                  const std::vector<std::string>& parameters,
                                                  const PolicyReader& reader) {
  Result<std::vector<Grid>> grid = parse_grid(parameters);
  if (!grid.ok()) return grid.error();
  std::vector<SharedEntry> entries;
  const auto add = [&](SharedEntry entry) {  // a built-in one that is named twice counts once
    if (std::ranges::find(entries, entry) == entries.end()) entries.push_back(std::move(entry));
  };
  for (auto at = names.begin(); at != names.end(); ++at) {
    const std::string& name = *at;
    if (std::find(names.begin(), at, name) != at) continue;
    if (name == "all") {
      for (const PolicyEntry& entry : policies()) add(built_in(entry));
      continue;
    }
    auto entry = find_entry(name, reader);
    if (!entry.ok()) return entry.error();
    const std::string& called = (*entry)->info.name;
    if (find_policy(called) != entry->get() &&
        std::ranges::any_of(entries, [&](const SharedEntry& other) { return other->info.name == called; }))
      return invalid("bad-flag", "two policies are called " + called + ", which could not be told apart")
          .hint("give a copy of one of the files another name");
    add(std::move(*entry));
  }
  std::vector<PolicyChoice> choices;
  for (const SharedEntry& entry : entries) {
    for (PolicyChoice& choice : combine(entry, *grid, entries.size() == 1)) {
      if (const auto made = make_policy(choice); !made.ok()) return made.error();
      choices.push_back(std::move(choice));
    }
  }
  for (const Grid& parameter : *grid) {
    if (!parameter.used)
      return invalid("unknown-parameter", "none of the policies has a parameter " + parameter.name)
          .hint("schedulearn policy show NAME lists them");
  }
  return choices;
}

Result<PolicySwitchChoice> parse_switch(const std::string& text, const PolicyReader& reader) {
  const std::string example = "with parameters: --switch 2h=tiresias:promote_knob=8,min_quantum_s=60";
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    return invalid("bad-flag", "--switch takes TIME=POLICY, not " + text).hint("--switch 2h=srtf").hint(example);
  const auto after = wire::parse_duration_s(text.substr(0, equals));
  if (!after.ok()) return after.error();
  const std::string policy = text.substr(equals + 1);
  const std::size_t colon = policy.find(':');
  std::vector<std::string> parameters;
  if (colon != std::string::npos) parameters = split_values(nullptr, policy.substr(colon + 1));
  const auto takes_one = [&] {
    return invalid("bad-flag", "--switch takes one value of each parameter and no lists, not " + text).hint(example);
  };
  if (std::ranges::any_of(parameters, [](const std::string& each) { return each.find('=') == std::string::npos; }))
    return takes_one();
  auto policies = choose_policies({policy.substr(0, colon)}, parameters, reader);
  if (!policies.ok()) return policies.error();
  if (policies->size() > 1) return takes_one();
  return PolicySwitchChoice{Duration::seconds(*after), policies->front()};
}

Result<Elastic> parse_elastic(const std::string& text) {
  const auto [from, to] = ends_of(text);
  const auto low = number<double>(from), high = number<double>(to);
  if (!low || !high || !(*low > 0) || !(*low <= 1) || !(*high >= 1) || !(*high <= 1000))
    return invalid("bad-flag", "--elastic takes LOW..HIGH with LOW at most 1 and HIGH at least 1, not " + text)
        .hint("--elastic 0.5..2: jobs run on half to twice the GPUs they ask for");
  return Elastic{*low, *high};
}

}  // namespace sl::study
