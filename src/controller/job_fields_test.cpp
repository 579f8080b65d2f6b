#include "controller/job_fields.h"

#include <gtest/gtest.h>

#include "controller/views.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

json::object whole_job() {
  json::object job = wire::to_value(answers::Job()).get_object();
  job["id"] = 5;
  job["spec"] = json::object{{"gpus", 2}, {"command", "true"}};
  return job;
}

TEST(JobFields, only_what_was_asked_for_is_shown) {
  const auto fields = JobFields::parse("id,state,spec.gpus");
  ASSERT_TRUE(fields.ok());
  EXPECT_TRUE(fields->need_spec());
  const json::object job = fields->of(whole_job());
  EXPECT_EQ(job.size(), 3U);
  EXPECT_EQ(job.at("id"), 5);
  EXPECT_EQ(job.at("spec"), (json::object{{"gpus", 2}}));
  EXPECT_EQ(JobFields::parse("spec.gpus,id,state,id,spec.gpus")->of(whole_job()), job) << "twice is once";
  EXPECT_FALSE(JobFields::parse("id,state")->need_spec());
  EXPECT_TRUE(JobFields::parse("labels")->need_spec());  // they are part of the specification
}

TEST(JobFields, none_are_all_and_every_key_of_a_job_is_one) {
  EXPECT_EQ(JobFields::parse("")->of(whole_job()), whole_job());
  for (const auto& [key, value] : whole_job()) EXPECT_TRUE(JobFields::parse(key).ok()) << key;
}

TEST(JobFields, what_is_none_is_refused_with_the_nearest) {
  const auto fields = JobFields::parse("id,stat");
  ASSERT_FALSE(fields.ok());
  EXPECT_EQ(fields.error().code, "bad-field");
  EXPECT_EQ(fields.error().hints, std::vector<std::string>{"did you mean state?"});
  for (const char* text : {"nonsense", "spec.nonsense", ",", "id,,name", "spec."})
    EXPECT_FALSE(JobFields::parse(text).ok()) << text;
}

}  // namespace
}  // namespace sl::controller
