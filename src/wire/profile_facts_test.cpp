#include "wire/profile.h"

#include <gtest/gtest.h>

namespace sl::wire {
namespace {

TrainingProfile profile_of(std::vector<ProfileSpeed> speeds) {
  TrainingProfile profile;
  profile.family = "cnn";
  profile.speeds = std::move(speeds);
  return profile;
}

JobModel model_of(const TrainingProfile& profile) {
  Names<GpuTypeIndex> gpu_types;
  return job_model_of(profile, gpu_types);
}

TEST(ProfileFacts, speeds_between_the_measured_ones_lie_on_a_line_and_other_types_of_gpu_have_their_own) {
  const TrainingProfile profile = profile_of({{1, 1, "V100", 0, 10, 70, 5},
                                              {4, 2, "V100", 0, 1, {}, {}},
                                              {4, 1, "V100", 0, 25, {}, {}},
                                              {2, 1, "K80", 0, 3, {}, {}}});
  JobModel model = model_of(profile);
  EXPECT_EQ(model.speed_curve, SpeedCurve({1, 1.5, 2, 2.5}));
  ASSERT_EQ(model.speed_by_gpu_type.size(), 2U);
  EXPECT_DOUBLE_EQ(model.speed_by_gpu_type[1].on_one_gpu, 0.15);
  EXPECT_EQ(model.gpu_utilization_pct, 70);
  EXPECT_EQ(model.gpu_memory_bytes, 5);
  EXPECT_FALSE(model.steps_total);
  EXPECT_FALSE(run_time_s(profile, model, 1)) << "the length of the training is not stated";
}

TEST(ProfileFacts, below_the_smallest_number_measured_speed_is_in_proportion) {
  const TrainingProfile profile = profile_of({{2, 1, "", 0, 10, {}, {}}, {4, 1, "", 0, 14, {}, {}}});
  JobModel model = model_of(profile);
  EXPECT_EQ(model.speed_curve, SpeedCurve({1, 2, 2.4, 2.8}));
}

TEST(ProfileFacts, the_run_time_follows_from_the_epochs_of_the_job) {
  TrainingProfile profile = profile_of({{1, 1, "", 0, 10, {}, {}}, {2, 1, "", 0, 20, {}, {}}});
  profile.epochs = 2, profile.steps_per_epoch = 100;
  JobModel model = model_of(profile);
  EXPECT_DOUBLE_EQ(*run_time_s(profile, model, 1), 20);
  model.epochs_total = 6;
  EXPECT_DOUBLE_EQ(*run_time_s(profile, model, 2), 30);
}

}  // namespace
}  // namespace sl::wire
