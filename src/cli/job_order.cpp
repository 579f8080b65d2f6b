#include "cli/job_order.h"

#include <algorithm>

namespace sl::cli {

bool is_over(const std::string& state) { return state == "succeeded" || state == "failed" || state == "cancelled"; }

bool has_gpus(const std::string& state) {
  return !is_over(state) && state != "pending" && state != "held" && state != "suspended";
}

namespace {

double gpus_of(const json::value& job) { return number_at(value_at(value_at(job, "spec"), "gpus"), "max", 1); }

struct Order {
  const char* name;
  bool (*is_before)(const json::value& a, const json::value& b);
};
constexpr Order orders[] = {
    {"id", [](const json::value& a, const json::value& b) { return number_at(a, "id") > number_at(b, "id"); }},
    {"name", [](const json::value& a, const json::value& b) { return text_at(a, "name") < text_at(b, "name"); }},
    {"user", [](const json::value& a, const json::value& b) { return text_at(a, "user") < text_at(b, "user"); }},
    {"gpus", [](const json::value& a, const json::value& b) { return gpus_of(a) > gpus_of(b); }},
    {"waited",
     [](const json::value& a, const json::value& b) { return number_at(a, "wait_s") > number_at(b, "wait_s"); }},
    {"ran", [](const json::value& a, const json::value& b) { return number_at(a, "run_s") > number_at(b, "run_s"); }},
};

// Those that run, those that wait, those that have ended: each as the controller lists them, the newest first.
int part_of_list(const json::value& job) {
  const std::string state = text_at(job, "state");
  return has_gpus(state) ? 0 : is_over(state) ? 2 : 1;
}

}  // namespace

std::vector<std::string> list_orders() {
  std::vector<std::string> names;
  for (const Order& order : orders) names.emplace_back(order.name);
  return names;
}

bool is_listed_before(const std::string& order, const json::value& a, const json::value& b) {
  const auto* by = std::ranges::find(orders, order, [](const Order& each) { return std::string_view(each.name); });
  return by == std::end(orders) ? part_of_list(a) < part_of_list(b) : by->is_before(a, b);
}

}  // namespace sl::cli
