// What an agent knows of its server's GPUs.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "agent/gpu_numbers.h"
#include "agent/gpu_watch.h"

namespace sl::agent {
namespace {

TEST(Gpus, simulated_ones_say_so) {
  const auto probe = make_simulated(3);
  EXPECT_TRUE(probe->simulated());
  EXPECT_EQ(probe->sample().size(), 3u);
}

std::vector<wire::GpuReport> gpus_of(const std::vector<std::string>& uuids) {
  std::vector<wire::GpuReport> gpus(uuids.size());
  for (std::size_t i = 0; i < uuids.size(); ++i) gpus[i].index = static_cast<int>(i), gpus[i].uuid = uuids[i];
  return gpus;
}

TEST(Gpus, keep_their_index_when_others_go_and_a_new_one_takes_the_place_of_one_that_is_missing) {
  const auto told = [](const std::vector<wire::GpuReport>& gpus) {
    std::string text;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      EXPECT_EQ(gpus[i].index, static_cast<int>(i));
      text += gpus[i].uuid + (gpus[i].missing ? "- " : " ");
    }
    return text;
  };
  const auto before = gpus_of({"A", "B", "C"});
  EXPECT_EQ(told(number_gpus(gpus_of({"A", "B"}), std::vector<wire::GpuReport>{})), "A B ");
  EXPECT_EQ(told(number_gpus(gpus_of({"C", "A", "B"}), before)), "A B C ");
  EXPECT_EQ(told(number_gpus(gpus_of({"A", "C"}), before)), "A B- C ");
  EXPECT_EQ(told(number_gpus(gpus_of({"A", "C", "N"}), before)), "A N C ");
  EXPECT_EQ(told(number_gpus(gpus_of({"N", "A", "B", "C"}), before)), "A B C N ");
  EXPECT_EQ(told(number_gpus(gpus_of({"", ""}), before)), "  ") << "who knows which they are";
}

TEST(Gpus, their_numbers_are_kept_on_disk) {
  char folder[] = "/tmp/schedulearn-gpus-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string file = std::string(folder) + "/gpus";
  number_gpus(gpus_of({"A", "B"}), file);
  const auto after = number_gpus(gpus_of({"B"}), file);
  ASSERT_EQ(after.size(), 2u);
  EXPECT_TRUE(after[0].missing);
  EXPECT_EQ(after[1].uuid, "B");
  std::ofstream(file) << "not what it was";
  EXPECT_EQ(number_gpus(gpus_of({"B"}), file).size(), 1u);
  std::filesystem::remove_all(folder);
}

TEST(Gpus, of_one_type_are_all_an_agent_for_that_type_sees) {
  class Mixed : public GpuProbe {
    bool simulated() const override { return false; }
    std::string driver_version() const override { return "1"; }
    std::vector<wire::GpuReport> sample() override {
      auto gpus = gpus_of({"A", "B", "C"});
      gpus[0].name = "old", gpus[1].name = "new", gpus[2].name = "new";
      return gpus;
    }
  };
  EXPECT_EQ(only_type(std::make_unique<Mixed>(), "")->sample().size(), 3u);
  EXPECT_EQ(only_type(std::make_unique<Mixed>(), "newer"), nullptr);
  const auto seen = only_type(std::make_unique<Mixed>(), "new")->sample();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].uuid, "B");
  EXPECT_EQ(seen[0].index, 0);
}

// Answers as it is told to.
class ScriptedProbe : public GpuProbe {
 public:
  explicit ScriptedProbe(std::shared_ptr<std::atomic<int>> script) : script_(std::move(script)) {}
  bool simulated() const override { return false; }
  std::string driver_version() const override { return "1"; }
  std::vector<wire::GpuReport> sample() override {
    while (*script_ == hangs) ::usleep(1'000);
    std::vector<wire::GpuReport> gpus(*script_ == first_gone ? 1 : 2);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      gpus[i].index = static_cast<int>(i);
      gpus[i].uuid = *script_ == first_gone || i == 1 ? "B" : "A";
    }
    return gpus;
  }
  enum { whole, first_gone, hangs };

 private:
  std::shared_ptr<std::atomic<int>> script_;
};

TEST(Gpus, are_told_apart_by_uuid_and_a_library_that_hangs_stops_nobody) {
  auto script = std::make_shared<std::atomic<int>>(ScriptedProbe::whole);
  const auto open = [script] { return std::make_unique<ScriptedProbe>(script); };
  auto watch = GpuWatch::open(open, Duration::milliseconds(100));
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ((*watch)->known().size(), 2u);
  const auto sees = [&](std::vector<int> indexes, bool answers) {
    for (int i = 0; i < 1'000; ++i, ::usleep(5'000)) {
      std::vector<int> seen;
      for (const wire::GpuReport& gpu : (*watch)->look()) seen.push_back(gpu.index);
      if (seen == indexes && (*watch)->answers() == answers) return true;
    }
    return false;
  };
  EXPECT_TRUE(sees({0, 1}, true));
  *script = ScriptedProbe::first_gone;
  EXPECT_TRUE(sees({1}, true));
  EXPECT_TRUE((*watch)->known_now()[0].missing);
  EXPECT_FALSE((*watch)->known_now()[1].missing);
  *script = ScriptedProbe::hangs;
  EXPECT_TRUE(sees({}, false));
  EXPECT_EQ(GpuWatch::open(open, Duration::milliseconds(50)).error().code, "gpu-library-hangs");
  *script = ScriptedProbe::whole;
  EXPECT_TRUE(sees({0, 1}, true));
  EXPECT_EQ(GpuWatch::open([] { return nullptr; }).error().code, "no-gpu");
}

}  // namespace
}  // namespace sl::agent
