// Who sends a request.
#pragma once

#include <string>

namespace sl::controller {

struct Identity {
  std::string user;
  bool is_admin = false;  // root or the controller's user: may act for others and see their data
  bool may_see(const std::string& owner) const { return is_admin || user == owner; }
};

}  // namespace sl::controller
