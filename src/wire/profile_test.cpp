#include "wire/profile.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <sstream>

namespace sl::wire {
namespace {

std::string example() {
  std::ifstream file(SCHEDULEARN_DOCS "/formats/profile.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::size_t begin = all.find("```json\n") + 8;
  return all.substr(begin, all.find("```", begin) - begin);
}

TEST(Profile, the_documented_example_is_read_and_written_as_it_stands) {
  const auto profile = parse_profile(example());
  ASSERT_TRUE(profile.ok()) << profile.error().message << " " << profile.error().pointer;
  EXPECT_EQ(profile->family, "fashion-cnn");
  ASSERT_EQ(profile->speeds.size(), 4U);
  EXPECT_EQ(profile->speeds[2].gpus, 4);
  EXPECT_EQ(profile->speeds[3].gpu_type, "K80");
  EXPECT_EQ(profile->loss->curve->b2, 0.19);
  EXPECT_EQ(profile_text(*profile), example());
}

std::string error_of(const std::string& keys) {
  const auto profile = parse_profile(R"({"schedulearn_profile": 1, "family": "f", )" + keys + "}");
  return profile.ok() ? "" : profile.error().code + " " + profile.error().pointer;
}

TEST(Profile, what_cannot_be_is_refused_with_its_place) {
  const std::string speeds = R"("speeds": [{"steps_per_s": 1}])";
  EXPECT_EQ(error_of(speeds), "");
  EXPECT_EQ(error_of(R"("epochs": 3)"), "bad-profile /speeds");
  EXPECT_EQ(error_of(R"("speeds": [{"gpus": 2}])"), "bad-profile /speeds/0/steps_per_s");
  EXPECT_EQ(error_of(R"("speeds": [{"gpus": 2, "servers": 3, "steps_per_s": 1}])"), "bad-profile /speeds/0/servers");
  EXPECT_EQ(error_of(R"("speeds": [{"steps_per_s": 1}, {"steps_per_s": 2}])"), "bad-profile /speeds/1");
  EXPECT_EQ(error_of(R"("speeds": [{"steps_per_s": 1, "gpu_utilization_pct": 101}])"),
            "bad-profile /speeds/0/gpu_utilization_pct");
  EXPECT_EQ(error_of(speeds + R"(, "epochs": 0)"), "bad-profile /epochs");
  EXPECT_EQ(error_of(speeds + R"(, "epoch": 1)"), "unknown-key /epoch");
  EXPECT_EQ(error_of(speeds + R"(, "model_bytes": 1, "largest_tensor_bytes": 2)"), "bad-profile /largest_tensor_bytes");
  EXPECT_EQ(error_of(speeds + R"(, "shared": [{"steps_per_s": 1}])"), "bad-profile /shared/0/with");
  EXPECT_EQ(error_of(speeds + R"(, "loss": {})"), "bad-profile /loss");
  EXPECT_EQ(error_of(speeds + R"(, "loss": {"by_epoch": [1], "curve": {"b0": 1}})"), "bad-profile /loss");
  EXPECT_EQ(error_of(speeds + R"(, "loss": {"curve": {"b2": 1}})"), "bad-profile /loss/curve");
  EXPECT_EQ(error_of(speeds + R"(, "loss": {"by_epoch": [1], "noise": 2})"), "bad-profile /loss/noise");
}

TEST(Profile, other_documents_and_later_versions_are_told_apart) {
  EXPECT_EQ(parse_profile("{}").error().code, "bad-profile");
  EXPECT_EQ(parse_profile("[]").error().code, "bad-profile");
  EXPECT_EQ(parse_profile(R"({"schedulearn_profile": 2, "more": 1})").error().code, "profile-version");
  EXPECT_EQ(parse_profile("{").error().code, "malformed-json");
}

// With short numbers: Boost.JSON 1.81 may misread the last bit of a long one.
RC_GTEST_PROP(Profile, what_is_written_is_read_back, (const std::vector<std::uint16_t>& speeds, std::uint16_t bytes)) {
  TrainingProfile profile;
  profile.family = "f \"quoted\" \xC3\xA4";
  profile.model_bytes = bytes;
  profile.restart_s = bytes / 16.0;
  profile.speeds.push_back({.steps_per_s = 0.125});
  for (std::size_t i = 0; i < speeds.size(); ++i)
    profile.speeds.push_back({.gpus = static_cast<int>(i) + 2, .steps_per_s = (speeds[i] + 1) / 8.0});
  if (bytes % 2 == 0) profile.loss = ProfileLoss{.by_epoch = {bytes / 4.0, 0, -1}, .curve = {}};
  const auto back = parse_profile(profile_text(profile));
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == profile);
}

}  // namespace
}  // namespace sl::wire
