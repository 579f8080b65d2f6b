#include "cli/config.h"

#include <gtest/gtest.h>

#include "wire/job_file.h"

namespace sl::cli {
namespace {

namespace json = boost::json;

Config nearest_first(std::vector<std::string> texts) {
  std::vector<ConfigFile> files;
  for (const std::string& text : texts)
    files.push_back({"file" + std::to_string(files.size()), *wire::toml_to_json(text)});
  return *Config::of(std::move(files));
}

TEST(Config, the_nearer_file_wins) {
  const Config config = nearest_first({"[defaults]\ngpus = 2", "url = 'http://near'\n[defaults]\ngpus = 1\nname = 'x'",
                                       "url = 'http://far'\ncolor = 'never'"});
  EXPECT_EQ(config.text("url"), "http://near");
  EXPECT_EQ(config.text("color"), "never");
  EXPECT_EQ(config.text("timeout"), "");
  EXPECT_EQ(config.find("defaults.gpus")->value, 2);
  EXPECT_EQ(config.find("defaults.gpus")->path, "file0");
  EXPECT_EQ(config.find("defaults.name")->path, "file1");
  EXPECT_EQ(config.find("url.x"), std::nullopt);
  EXPECT_EQ(config.all().size(), 4U);
}

TEST(Config, defaults_add_what_a_job_does_not_say) {
  const Config config = nearest_first({"[defaults.time]\nlimit = '2h'", "[defaults]\ngpus = 4\ntime.estimate = '1h'"});
  json::object job{{"gpus", 1}, {"time", json::object{{"limit", "5m"}}}};
  config.add_defaults(job);
  EXPECT_EQ(job, (json::object{{"gpus", 1}, {"time", json::object{{"limit", "5m"}, {"estimate", "1h"}}}}));
  json::object other;
  config.add_defaults(other);
  EXPECT_EQ(other.at("time").at("limit"), "2h");
  EXPECT_EQ(other.at("gpus"), 4);
}

std::string set(const std::string& text, const std::string& key, const std::string& value) {
  const auto changed = with_setting(text, key, value);
  return changed.ok() ? *changed : changed.error().code;
}

TEST(Config, a_default_that_no_job_could_have_is_not_set) {
  EXPECT_EQ(set("", "defaults.gpsu", "2"), "unknown-key");
  EXPECT_EQ(set("", "defaults.gpus", "many"), "bad-gpus");
  EXPECT_EQ(set("", "defaults.time.limit", "2x"), "bad-duration");
  EXPECT_EQ(set("[defaults]\ngpsu = 2\n", "defaults.gpsu", ""), "[defaults]\n") << "what is wrong can be taken back";
  EXPECT_EQ(set("[defaults]\ngpsu = 2\n", "url", "b"), "url = \"b\"\n[defaults]\ngpsu = 2\n");
}

TEST(Config, a_setting_changes_and_the_rest_of_the_file_stays) {
  EXPECT_EQ(set("", "url", "http://lab:5000"), "url = \"http://lab:5000\"\n");
  const std::string text = "# mine\nurl = 'a'  # old\n\n[defaults]\ngpus = 1\n";
  EXPECT_EQ(set(text, "url", "b"), "# mine\nurl = \"b\"\n\n[defaults]\ngpus = 1\n");
  EXPECT_EQ(set(text, "defaults.gpus", "2"), "# mine\nurl = 'a'  # old\n\n[defaults]\ngpus = 2\n");
  EXPECT_EQ(set(text, "defaults.name", "x y"), text + "name = \"x y\"\n");
  EXPECT_EQ(set(text, "defaults.time.limit", "2h"), text + "[defaults.time]\nlimit = \"2h\"\n");
  EXPECT_EQ(set(text, "color", "never"), "# mine\nurl = 'a'  # old\n\ncolor = \"never\"\n[defaults]\ngpus = 1\n");
  EXPECT_EQ(set(text, "url", ""), "# mine\n\n[defaults]\ngpus = 1\n");
  EXPECT_EQ(set(text, "timeout", ""), text);
  EXPECT_EQ(set("", "token_file", "a\"b\\"), "token_file = \"a\\\"b\\\\\"\n");
}

TEST(Config, an_answer_is_waited_for_up_to_a_year) {
  EXPECT_EQ(*parse_timeout_s("365d"), 365.0 * 86400);
  for (const char* text : {"0s", "366d", "200000d"}) {
    EXPECT_EQ(parse_timeout_s(text).error().code, "bad-duration") << text;
    EXPECT_EQ(set("", "timeout", text), "bad-flag") << text;
  }
  EXPECT_NE(parse_timeout_s("200000d").error().message.find("365d"), std::string::npos);
  EXPECT_EQ(set("", "timeout", "2m"), "timeout = \"2m\"\n");
}

TEST(Config, what_is_no_setting_is_refused) {
  EXPECT_EQ(set("", "urll", "x"), "unknown-key");
  EXPECT_EQ(set("", "jobs.gpus", "2"), "unknown-key");
  EXPECT_EQ(set("", "defaults", "2"), "wrong-type");
  EXPECT_EQ(set("", "", "2"), "unknown-key");
  EXPECT_EQ(set("broken", "url", "x"), "malformed-toml");
}

}  // namespace
}  // namespace sl::cli
