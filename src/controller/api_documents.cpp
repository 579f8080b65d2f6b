// What this API is: for programs (OpenAPI) and for people.
#include "controller/api.h"
#include "controller/openapi.h"

namespace sl::controller {
namespace {

// Nothing but the style sheet, and no page around this one.
constexpr const char* content_rules =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

net::Response page(std::string type, std::string body) {
  return {200,
          std::move(type),
          {{"Content-Security-Policy", content_rules},
           {"X-Content-Type-Options", "nosniff"},
           {"Referrer-Policy", "no-referrer"}},
          std::move(body)};
}

}  // namespace

boost::json::object Api::openapi_document() const {
  std::vector<const RouteInfo*> infos;
  for (const Route& route : routes_) infos.push_back(&route.info);
  return openapi(infos, logic_.settings().version);
}

void Api::get_openapi(Call call) { call.send(200, wire::Object{openapi_document()}); }

void Api::get_docs(Call call) { call.reply->send(page("text/html; charset=utf-8", docs_page(openapi_document()))); }

void Api::get_docs_style(Call call) { call.reply->send(page("text/css; charset=utf-8", std::string(docs_style()))); }

}  // namespace sl::controller
