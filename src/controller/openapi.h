// This API as an OpenAPI 3.1 document, and that document as a page for people. Made from the descriptions of the routes
// (route_info.h), which the program itself obeys.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "controller/route_info.h"

namespace sl::controller {

boost::json::object openapi(const std::vector<const RouteInfo*>& routes, const std::string& version);

// HTML without a script and without a request to anywhere, except for its style sheet.
std::string docs_page(const boost::json::object& openapi);
std::string_view docs_style();

}  // namespace sl::controller
