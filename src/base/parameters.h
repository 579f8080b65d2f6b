// Named parameters of a policy or a generated workload: what each one means, and the values given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sl {

// `ascending` is a list of numbers, each larger than the one before: "3250,7200"; `names` one of choices, each at most
// once: "fifo,srtf".
enum class ParameterType : std::uint8_t { number, integer, boolean, choice, ascending, names };
const char* to_string(ParameterType type);

struct ParameterInfo {
  std::string name;
  ParameterType type = ParameterType::number;
  std::string unit;
  std::string default_value;
  double min = 0;  // for a list: bounds of each number in it
  double max = 0;  // min == max: unbounded
  std::vector<std::string> choices;
  std::string help;
};

// Finds a parameter by its name in any spelling that is_same_name() accepts; nullptr if there is none.
const ParameterInfo* find_parameter(const std::vector<ParameterInfo>& infos, std::string_view name);

using GivenParameters = std::vector<std::pair<std::string, std::string>>;  // name, value as typed

// Several values for one parameter, as typed on a command line: "4,8" is two values of a number. Values of a list are
// separated by "/": "3600/3250,7200" is one list of one number and one of two. `info` may be null (an unknown name).
std::vector<std::string> split_values(const ParameterInfo* info, std::string_view text);

// Values of parameters by name; absent ones have their default.
class Parameters {
 public:
  Parameters() = default;
  // `owner` is named in errors: "policy fifo". Errors: "unknown-parameter", "bad-parameter".
  static Result<Parameters> parse(const std::vector<ParameterInfo>& infos, const GivenParameters& given,
                                  const std::string& owner);

  double number(std::string_view name) const;
  int integer(std::string_view name) const { return static_cast<int>(number(name)); }
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string> names(std::string_view name) const;
  bool boolean(std::string_view name) const { return text(name) == "true"; }
  const std::string& text(std::string_view name) const;
  const GivenParameters& all() const { return values_; }

 private:
  GivenParameters values_;  // every parameter of the infos, in its order
};

}  // namespace sl
