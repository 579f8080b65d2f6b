#include "wire/secrets.h"

#include <algorithm>
#include <cctype>

namespace sl::wire {
namespace {

constexpr std::size_t secrets_max = 32;

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_variable(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '_'; }) &&
         !name.starts_with("SCHEDULEARN_");
}

}  // namespace

SecretUse parse_secret(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::string secret_variables(const std::vector<std::string>& secrets) {
  std::string list;
  for (const std::string& text : secrets) {
    if (!parse_secret(text).variable.empty()) list += (list.empty() ? "" : ",") + text;
  }
  return "SCHEDULEARN_SECRET_VARIABLES=" + list;
}

bool is_secret_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; });
}

Status validate_secret_name(const std::string& name) {
  if (is_secret_name(name)) return {};
  return invalid("bad-secret", "'" + name + "' is no name of a secret")
      .hint("letters, digits, - and _, at most 64: schedulearn secret set wandb");
}

Status validate_secrets(const JobSpec& spec) {
  if (spec.secrets.size() > secrets_max) return invalid("bad-secret", "a job has at most 32 secrets").at("/secrets");
  for (const std::string& text : spec.secrets) {
    const SecretUse use = parse_secret(text);
    const bool has_variable = text.find('=') != std::string::npos;
    if (!is_secret_name(use.name) || (has_variable && !is_variable(use.variable)))
      return invalid("bad-secret", "'" + text + "' names no secret")
          .hint("secrets = [\"wandb\"], a file; secrets = [\"WANDB_API_KEY=wandb\"], a variable too")
          .at("/secrets");
  }
  return {};
}

}  // namespace sl::wire
