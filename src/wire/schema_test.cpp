#include "wire/schema.h"

#include <gtest/gtest.h>

#include "wire/request_schemas.h"

namespace sl::wire {
namespace {

namespace json = boost::json;

struct SchemaInner {
  std::optional<int> count;
  std::vector<std::string> words;
};
BOOST_DESCRIBE_STRUCT(SchemaInner, (), (count, words))

struct SchemaOuter {
  double speed = 0;
  Time at;
  std::optional<SchemaInner> inner;
  std::map<std::string, bool> flags;
  std::string default_;
};
BOOST_DESCRIBE_STRUCT(SchemaOuter, (), (speed, at, inner, flags, default_))

TEST(Schema, of_what_is_written_requires_every_key_and_of_what_is_read_allows_no_other) {
  const json::object written = schema_of<SchemaOuter>(KeysOf::written), read = schema_of<SchemaOuter>(KeysOf::read);
  EXPECT_EQ(written.at("required"), (json::array{"speed", "at", "inner", "flags", "default"}));
  EXPECT_FALSE(written.contains("additionalProperties"));
  EXPECT_EQ(read.at("additionalProperties"), false);
  EXPECT_FALSE(read.contains("required"));
}

TEST(Schema, says_the_types_of_members) {
  const json::object schema = schema_of<SchemaOuter>(KeysOf::partial);
  const json::object& keys = schema.at("properties").get_object();
  EXPECT_EQ(keys.at("speed"), (json::object{{"type", "number"}}));
  EXPECT_EQ(keys.at("at"), (json::object{{"type", "string"}, {"format", "date-time"}}));
  EXPECT_EQ(keys.at("inner").at("type"), (json::array{"object", "null"}));
  EXPECT_EQ(keys.at("inner").at("properties").at("count").at("type"), (json::array{"integer", "null"}));
  EXPECT_EQ(keys.at("flags").at("additionalProperties"), (json::object{{"type", "boolean"}}));
}

TEST(Schema, of_a_job_file_has_the_keys_that_its_reader_takes_and_no_others) {
  const json::object schema = job_schema();
  const json::object& keys = schema.at("properties").get_object();
  EXPECT_EQ(keys.at("priority").at("type"), "integer");
  EXPECT_EQ(keys.at("time").at("properties").at("limit").at("type"), (json::array{"number", "string", "null"}));
  EXPECT_TRUE(keys.contains("required_gpus"));  // of the original API
  const json::value spec = to_value(JobSpec());
  for (const auto& [key, value] : spec.get_object()) EXPECT_TRUE(keys.contains(key)) << key;
  for (const TrainingKey& key : training_keys())
    EXPECT_TRUE(std::string_view(keys.at("training").at("properties").at(key.name).at("description").as_string())
                    .starts_with(key.meaning));
  EXPECT_EQ(job_change_schema().at("properties").get_object().size(), 12U);
  EXPECT_TRUE(intervention_schema("suspend").at("properties").get_object().empty());
  EXPECT_TRUE(intervention_schema("scale").at("properties").get_object().contains("gpus"));
}

}  // namespace
}  // namespace sl::wire
