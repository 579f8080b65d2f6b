// In which order `ls` and `top` show jobs.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"

namespace sl::cli {

bool is_over(const std::string& state);
bool has_gpus(const std::string& state);  // or is about to have some, or gives them back

// Names of orders: id, name, user, gpus, waited, ran.
std::vector<std::string> list_orders();
// `order`: one of list_orders(); empty: those that run, those that wait, those that have ended.
bool is_listed_before(const std::string& order, const json::value& a, const json::value& b);

}  // namespace sl::cli
