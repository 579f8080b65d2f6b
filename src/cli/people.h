// user, token, announce: who may ask a controller, and what admins tell all of them.
#pragma once

#include <string>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

class PeopleCommands : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  void add_users(CLI::App& app);
  void add_tokens(CLI::App& app);
  void add_announcements(CLI::App& app);
  int add_user() const;
  int set_user() const;
  int remove_user() const;
  int add_token() const;
  int remove_token() const;
  int announce() const;

  std::string name_, user_, role_, expires_, text_, until_;
  bool clear_ = false;
};

// What admins tell, on standard error, if people read this.
void print_announcements(const Context& context);

}  // namespace sl::cli
