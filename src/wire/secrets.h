// How a job names the secrets that it is given: "wandb" as the file $SCHEDULEARN_SECRETS_DIR/wandb,
// "WANDB_API_KEY=wandb" as a variable too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/job_spec.h"

namespace sl::wire {

// How the secret of a named token of the controller begins (controller/people.h).
inline constexpr std::string_view named_token_prefix = "slt_";

struct SecretUse {
  std::string variable;  // empty: only a file
  std::string name;
};
SecretUse parse_secret(std::string_view text);
// Which variables are to have which of the files, for the first process of a container:
// "SCHEDULEARN_SECRET_VARIABLES=WANDB_API_KEY=wandb,TOKEN=hub".
std::string secret_variables(const std::vector<std::string>& secrets);
bool is_secret_name(std::string_view name);
Status validate_secret_name(const std::string& name);  // error "bad-secret"
Status validate_secrets(const JobSpec& spec);

}  // namespace sl::wire
