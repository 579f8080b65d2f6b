// Controllers that the user has signed in to (login): each a context with a name, an address and a token, in a file of
// its own that only the user may read: contexts/NAME.toml beside config.toml. A token goes to the address that it was
// given for and to no other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace sl::cli {

struct SignIn {
  std::string name, url, token;  // `url` without a slash at its end
};

// The name of this machine's own controller, to which nobody signs in.
inline constexpr const char* local_context = "local";

std::vector<SignIn> sign_ins();  // by name; files that cannot be read are left out
// Errors: "no-such-context".
Result<SignIn> find_sign_in(const std::string& name);
// The token that was given for this address; empty: none.
std::string token_for(const std::string& url);
// "http://lab:5000" for "lab:5000/", as it may be typed, and for the address of any page. Errors: those of net::parse_url.
Result<std::string> full_url(const std::string& typed);
// "lab" for http://lab:5000, "lab-6000" for another port.
std::string context_name_of(const std::string& url);
// Errors: "bad-context", "cannot-write".
Status keep(const SignIn& sign_in);
Status forget_sign_in(const std::string& name);

}  // namespace sl::cli
