#include "wire/environment_name.h"

#include "wire/utf8.h"

namespace sl::wire {

Status check_environment_name(const std::string& name) {
  if (!name.empty() && name.find_first_of("= ") == std::string::npos && !has_control_characters(name)) return {};
  return invalid("bad-env", "'" + name + "' is no name of an environment variable")
      .hint("a name without spaces, = and control characters: --env LEARNING_RATE=0.1");
}

}  // namespace sl::wire
