#include <gtest/gtest.h>

#include "base/random.h"
#include "trace/import/importer.h"
#include "trace/pollux/training.h"

namespace sl::trace {
namespace {

// A grid with a hole and a point outside of it: many points on one sphere, flat tetrahedra.
std::vector<Delaunay::Point> grid() {
  std::vector<Delaunay::Point> points;
  for (int x = 0; x < 5; ++x) {
    for (int y = 0; y < 5; ++y) {
      for (int z = 0; z < 4; ++z) {
        if (x != 2 || y != 2 || z != 2) points.emplace_back(x, y, 32 << z);
      }
    }
  }
  points.emplace_back(9, 2, 40);
  return points;
}

TEST(PolluxDelaunay, a_linear_function_of_the_corners_is_itself_everywhere_inside) {
  const std::vector<Delaunay::Point> points = grid();
  const Delaunay triangulation(points);
  const auto function = [](const Delaunay::Point& at) { return 3 * at[0] - 2 * at[1] + at[2] / 7 + 1; };
  Random random(20261124);
  for (int i = 0; i < 20'000; ++i) {
    const Delaunay::Point at(random.uniform() * 4, random.uniform() * 4, 32 + random.uniform() * 224);
    const auto mean = triangulation.find(at);
    ASSERT_TRUE(mean) << at.transpose();
    double sum = 0;
    for (std::size_t k = 0; k < 4; ++k)
      sum += mean->weights[static_cast<Eigen::Index>(k)] * function(points.at(mean->points.at(k)));
    ASSERT_NEAR(sum, function(at), 1e-9) << at.transpose();
    ASSERT_GE(mean->weights.minCoeff(), -1e-7) << at.transpose();
  }
}

TEST(PolluxDelaunay, its_points_are_themselves_and_outside_there_is_nothing) {
  const std::vector<Delaunay::Point> points = grid();
  const Delaunay triangulation(points);
  for (const Delaunay::Point& point : points) {
    const auto mean = triangulation.find(point);
    ASSERT_TRUE(mean) << point.transpose();
    Delaunay::Point sum = Delaunay::Point::Zero();
    for (std::size_t k = 0; k < 4; ++k)
      sum += mean->weights[static_cast<Eigen::Index>(k)] * points.at(mean->points.at(k));
    EXPECT_LT((sum - point).norm(), 1e-9) << point.transpose();
    EXPECT_GT(mean->weights.maxCoeff(), 1 - 1e-9) << point.transpose();
  }
  EXPECT_FALSE(triangulation.find({-1, 2, 40}));
  EXPECT_FALSE(triangulation.find({2, 2, 300}));
  EXPECT_FALSE(triangulation.find({8.9, 0.1, 250}));  // within the box, outside of the hull
}

TEST(PolluxStepTimes, are_linear_between_batches_on_a_placement_in_any_rotation_and_between_placements) {
  StepTimes times;
  for (int servers = 1; servers <= 3; ++servers) {
    for (int extra = 0; extra <= 3; ++extra) {
      for (const int batch : {8, 16, 32})
        times.add(servers, servers + extra, batch, {1.0 * batch + servers, 0.5 * (servers + extra)});
    }
  }
  times.add("112", 8, {1, 0});
  times.add("112", 16, {3, 1});
  times.triangulate();
  EXPECT_DOUBLE_EQ(times.at({2, 1, 1}, 10)->step_s, 1.5);
  EXPECT_DOUBLE_EQ(times.at({1, 2, 1}, 10)->sync_s, 0.25);
  EXPECT_FALSE(times.at({1, 2, 1}, 17));
  EXPECT_NEAR(times.at({2, 3}, 20)->step_s, 22, 1e-9);
  EXPECT_NEAR(times.at({2, 3}, 20)->sync_s, 2.5, 1e-9);
  EXPECT_FALSE(times.at({4, 4}, 20));
  EXPECT_FALSE(times.at(std::vector<int>(250'000, 4), 20));  // at once
}

// What SciPy 1.10 says; other tetrahedra that hold these points give up to 2 % more or less.
TEST(PolluxStepTimes, on_five_servers_are_those_of_the_original) {
  const auto step_s = [](const char* application, const std::vector<int>& placement, int local_batch) {
    return find_pollux_application(application)->step_times.at(placement, local_batch).value().step_s;
  };
  EXPECT_NEAR(step_s("bert", {2, 2, 1, 1, 1}, 9), 1.5724852437774341, 1e-12);
  EXPECT_NEAR(step_s("bert", {2, 2, 1, 1, 1}, 10), 1.594884869456291, 1e-12);
  EXPECT_NEAR(step_s("cifar10", {2, 1, 1, 1, 1}, 47), 0.14196159546835382, 1e-12);
  EXPECT_NEAR(step_s("imagenet", {2, 1, 1, 1, 1}, 25), 0.3770796646674474, 1e-12);
  EXPECT_NEAR(step_s("deepspeech2", {2, 1, 1, 1, 1}, 49), 1.64633956204832, 1e-12);
}

TEST(PolluxTraining, comes_to_itself_for_thirty_seconds_wherever_it_is_placed) {
  const std::int64_t alone_s = *PolluxTraining::length_s("cifar10", 512, 4);
  auto training = *PolluxTraining::of("cifar10", 512);
  training.run(60);  // without GPUs
  ASSERT_TRUE(training.place({4}).ok());
  training.run(600);
  ASSERT_TRUE(training.place({}).ok());
  training.run(600);
  ASSERT_TRUE(training.place({4}).ok());
  while (!training.done_after_s()) training.run(60);
  EXPECT_NEAR(static_cast<double>(*training.done_after_s()), static_cast<double>(60 + 600 + alone_s + 2 * 30), 2);
  EXPECT_LT(*PolluxTraining::length_s("cifar10", 512, 4), *PolluxTraining::length_s("cifar10", 512, 1));
}

TEST(PolluxTraining, what_was_not_measured_is_refused_with_what_was) {
  EXPECT_EQ(PolluxTraining::of("gpt", 64).error().notes.front(),
            "of these there are: bert, cifar10, deepspeech2, imagenet, ncf, yolov3");
  EXPECT_EQ(PolluxTraining::of("cifar10", 4097).error().notes.front(), "batches from 128 to 4096 were");
  EXPECT_EQ(PolluxTraining::length_s("bert", 12, 4).error().message,
            "bert was not measured with a batch of 12 on 4 GPUs of one server");
  EXPECT_EQ(PolluxTraining::length_s("bert", 24, 12).error().message,
            "bert was not measured with a batch of 24 on 4+4+4 GPUs of 3 servers");
}

TEST(PolluxImport, rows_that_are_no_training_are_counted_and_time_is_the_simulator_s_own) {
  const auto imported =
      import_trace(ImportFormat::pollux,
                   {"name,time,application,num_replicas,batch_size\n"
                    "a,107,cifar10,6,2048\nb,110,gpt,1,64\nc,,ncf,1,32768\nd,120,ncf,0,32768\ne,130,ncf,1,x\n"},
                   {});
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  ASSERT_EQ(imported->trace.jobs.size(), 1U);
  const TraceJob& job = imported->trace.jobs[0];
  EXPECT_EQ(job.submitted, Instant::at_seconds(107));
  EXPECT_EQ(job.duration.to_seconds(), static_cast<double>(*PolluxTraining::length_s("cifar10", 2048, 6)));
  EXPECT_EQ(imported->trace.details_of(job)->family, "cifar10");
  EXPECT_EQ(imported->trace.details_of(job)->model->batch_size, 2048);
  const std::map<std::string, std::int64_t> dropped = {{"there are no measurements of gpt", 1},
                                                       {"no submission time", 1},
                                                       {"an invalid number of GPUs", 1},
                                                       {"an invalid batch size", 1}};
  EXPECT_EQ(imported->report.dropped, dropped);
}

}  // namespace
}  // namespace sl::trace
