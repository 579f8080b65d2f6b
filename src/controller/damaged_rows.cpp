#include "controller/damaged_rows.h"

#include <boost/json.hpp>

namespace sl::controller {

store::EventRow row_set_aside(const std::string& what, const std::string& why, const std::string& content,
                              Instant now) {
  return {.at_us = now.us,
          .kind = "database.row_set_aside",
          .text = "the database row of " + what + " cannot be read and is skipped: " + why,
          .data_json = boost::json::serialize(boost::json::object{{"content", content}})};
}

}  // namespace sl::controller
