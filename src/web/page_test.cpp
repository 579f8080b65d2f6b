#include "web/page.h"

#include <gtest/gtest.h>

namespace sl::web {
namespace {

// gzip of "body { color: red }\n"
const std::string compressed(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\xca\x4f\xa9\x54\xa8\x56\x48\xce\xcf\xc9\x2f\xb2\x52\x28"
    "\x4a\x4d\x51\xa8\xe5\x02\x00\x96\x24\xd3\x5e\x14\x00\x00\x00",
    40);
const std::string html = R"(<html><base href="./"><p>jobs</p></html>)";

std::string small_pack() {
  return "schedulearn-page 1\nassets/a-1.css text/css gzip immutable 40 cafe\nindex.html text/html identity changing " +
         std::to_string(html.size()) + " beef\n\n" + compressed + html;
}

net::Request get(const std::string& path, net::Headers headers = {}) {
  return {.method = "GET", .target = path, .path = path, .headers = std::move(headers)};
}

std::string header(const net::Response& response, const std::string& name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST(Page, EveryAddressBelowUiIsTheIndexWithItsOwnWayUp) {
  const std::string pack = small_pack();
  const auto page = Page::unpack(pack);
  ASSERT_TRUE(page.ok());
  EXPECT_NE(page->answer(get("/ui/")).body.find(R"(<base href="./">)"), std::string::npos);
  EXPECT_NE(page->answer(get("/ui/jobs")).body.find(R"(<base href="./">)"), std::string::npos);
  EXPECT_NE(page->answer(get("/ui/jobs/5")).body.find(R"(<base href="../">)"), std::string::npos);
  EXPECT_NE(page->answer(get("/ui/no/such/page")).body.find(R"(<base href="../../">)"), std::string::npos);
  EXPECT_NE(page->answer(get("/ui/index.html")).body.find(R"(<base href="./">)"), std::string::npos);
  const net::Request encoded{.method = "GET", .target = "/ui/servers/a%2Fb?x=/", .path = "/ui/servers/a/b"};
  EXPECT_NE(page->answer(encoded).body.find(R"(<base href="../">)"), std::string::npos);
  EXPECT_EQ(page->answer(get("/ui/a/b/c/d/e/f/g/h/i/j")).status, 404);
  EXPECT_EQ(page->answer(get("/ui/../../etc/passwd")).body.find("root:"), std::string::npos);
}

TEST(Page, TheAddressesOfTheOriginalLeadToTheirPages) {
  const std::string pack = small_pack();
  const auto page = Page::unpack(pack);
  ASSERT_TRUE(page.ok());
  for (const auto& [from, to] : {std::pair("/", "ui/"),
                                 {"/ui", "ui/"},
                                 {"/jobs", "ui/jobs"},
                                 {"/dashboard", "ui/submit"},
                                 {"/docs", "api/docs"},
                                 {"/openapi.json", "api/v1/openapi.json"}}) {
    const net::Response response = page->answer(get(from));
    EXPECT_EQ(response.status, 302);
    EXPECT_EQ(header(response, "Location"), to);
  }
}

TEST(Page, OnlyBrowsersGetPagesAtAddressesOfTheApi) {
  EXPECT_TRUE(is_for_page(get("/")));
  EXPECT_TRUE(is_for_page(get("/ui/jobs/5")));
  EXPECT_FALSE(is_for_page(get("/uix")));
  EXPECT_FALSE(is_for_page(get("/api/v1/jobs", {{"accept", "text/html"}})));
  EXPECT_FALSE(is_for_page(get("/jobs", {{"accept", "*/*"}})));
  EXPECT_TRUE(is_for_page(get("/jobs", {{"accept", "text/html,*/*;q=0.8"}})));
  net::Request post = get("/ui/");
  post.method = "POST";
  EXPECT_FALSE(is_for_page(post));
}

TEST(Page, FilesNamedByTheirContentsAreKeptForeverTheIndexIsAskedForAgain) {
  const std::string pack = small_pack();
  const auto page = Page::unpack(pack);
  ASSERT_TRUE(page.ok());
  const net::Response style = page->answer(get("/ui/assets/a-1.css", {{"accept-encoding", "gzip, deflate, br"}}));
  EXPECT_EQ(style.body, compressed);
  EXPECT_EQ(style.content_type, "text/css; charset=utf-8");
  EXPECT_EQ(header(style, "Content-Encoding"), "gzip");
  EXPECT_NE(header(style, "Cache-Control").find("immutable"), std::string::npos);
  const net::Response index = page->answer(get("/ui/jobs"));
  EXPECT_EQ(header(index, "Cache-Control"), "no-cache");
  const net::Response again = page->answer(get("/ui/jobs", {{"if-none-match", header(index, "ETag")}}));
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(page->answer(get("/ui/jobs/5", {{"if-none-match", header(index, "ETag")}})).status, 200);
}

TEST(Page, ClientsWithoutGzipGetTheFileItself) {
  const std::string pack = small_pack();
  const auto page = Page::unpack(pack);
  ASSERT_TRUE(page.ok());
  for (const char* codings : {"", "br", "gzip;q=0", "gzip;q=0.0, br", "identity"}) {
    const net::Response style = page->answer(get("/ui/assets/a-1.css", {{"accept-encoding", codings}}));
    EXPECT_EQ(style.body, "body { color: red }\n") << codings;
    EXPECT_EQ(header(style, "Content-Encoding"), "") << codings;
  }
  EXPECT_EQ(page->answer(get("/ui/assets/a-1.css", {{"accept-encoding", "br, gzip;q=0.5"}})).body, compressed);
}

TEST(Page, AMissingPartIsNotAnsweredWithTheIndex) {
  const std::string pack = small_pack();
  const auto page = Page::unpack(pack);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->answer(get("/ui/assets/gone.js")).status, 404);
}

TEST(Page, EveryAnswerForbidsWhatIsNotOurs) {
  const std::string pack = small_pack();
  const auto page = Page::unpack(pack);
  ASSERT_TRUE(page.ok());
  for (const char* path : {"/", "/ui/", "/ui/assets/a-1.css", "/ui/assets/gone.js"}) {
    const net::Response response = page->answer(get(path));
    const std::string rules = header(response, "Content-Security-Policy");
    EXPECT_NE(rules.find("default-src 'none'"), std::string::npos) << path;
    EXPECT_EQ(rules.find("unsafe"), std::string::npos) << path;
    EXPECT_EQ(header(response, "X-Content-Type-Options"), "nosniff") << path;
  }
}

TEST(Page, DamagedPacksAreRefused) {
  for (const std::string& pack :
       {std::string(), std::string("schedulearn-page 2\n\n"), std::string("schedulearn-page 1\n\n"),
        small_pack().substr(0, 150), small_pack() + "x",
        std::string("schedulearn-page 1\nindex.html text/html identity changing 99999 beef\n\n<base")}) {
    const auto page = Page::unpack(pack);
    ASSERT_FALSE(page.ok());
    EXPECT_EQ(page.error().code, "bad-page-pack");
  }
}

TEST(Page, TheProgramContainsAPage) {
  const net::Response response = Page::embedded().answer(get("/ui/"));
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find("Schedulearn"), std::string::npos);
}

}  // namespace
}  // namespace sl::web
