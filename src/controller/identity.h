// Who sends a request, and what his role allows.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace sl::controller {

// In this order: each may do what those before it may do.
enum class Role {
  agent,   // joins as the one server of its token, and takes that one out of the cluster; only tokens have it
  viewer,  // sees everything that is shown to all, and changes nothing
  user,    // has jobs, and does with them what he likes
  admin,   // everything: all jobs, servers, the policy, users; acts for others
};
std::string_view name_of(Role role);
std::optional<Role> role_of_name(std::string_view name);
inline constexpr std::string_view role_names = "viewer, user or admin";  // those that users can have

struct Identity {
  std::string user;
  Role role = Role::viewer;
  // What it rests on; People::confirm() says whether it still holds:
  //   "controller"  the kernel's word that it is root or the controller's own user, or the controller's token
  //   "name:USER"   the kernel's word that it is USER, who also has the controller's token
  //   "token:ID"    a named token
  //   "link:USER@SINCE:BASIS"  a link that an admin, by this basis, has made for USER, added at SINCE (microseconds; 0:
  //                 always an admin)
  std::string basis = {};
  std::string server = {};      // of the role `agent`: the only one for which it may speak
  bool acts_for_other = false;  // an admin's request in the name of `user`
  std::string session = {};     // of a browser that has signed in (browser_sessions.h); empty: none
  // Whether what it may take of what all share is limited: not that of the controller's own user, of root, and of whoever
  // has the controller's token.
  bool is_bounded() const { return basis != "controller"; }
  bool is_admin() const { return role == Role::admin; }
  bool may_see(const std::string& owner) const { return is_admin() || user == owner; }
};

// Which named token it rests on, directly or through a link; empty: none.
inline std::string_view token_of(std::string_view basis) {
  constexpr std::string_view link = "link:", token = "token:";
  while (basis.starts_with(link)) basis.remove_prefix(std::min(basis.find(':', link.size()), basis.size() - 1) + 1);
  return basis.starts_with(token) ? basis.substr(token.size()) : std::string_view();
}

}  // namespace sl::controller
