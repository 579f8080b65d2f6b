#include "wire/members.h"

#include <gtest/gtest.h>

#include "wire/job_spec_text.h"
#include "wire/json.h"

namespace sl::wire {
namespace {

JobSpec group_of(const std::string& toml) {
  Result<JobSpec> spec = parse_job_toml(toml, "/");
  EXPECT_TRUE(spec.ok()) << (spec.ok() ? "" : spec.error().message);
  return spec.ok() ? *spec : JobSpec();
}

TEST(Members, an_array_has_a_member_for_each_number) {
  const JobSpec group = group_of(
      "command = [\"run\", \"--part\", \"{index}\"]\nname = \"part-{index}\"\narray = \"3,5-6\"\n"
      "max_running = 2\nhold = true\nafter = 7\n");
  EXPECT_EQ(member_count(group), 3);
  const JobSpec member = member_spec(group, 12, 1);
  EXPECT_EQ(member.name, "part-5");
  EXPECT_EQ(std::get<std::vector<std::string>>(member.command).back(), "5");
  EXPECT_EQ(member.env.at("SCHEDULEARN_INDEX"), "5");
  EXPECT_EQ(member.env.at("SCHEDULEARN_GROUP_ID"), "12");
  EXPECT_FALSE(is_group(member) || member.hold || member.max_running || !member.after.empty());
  EXPECT_TRUE(validate(member).ok());
  EXPECT_EQ(place_of_member(group, 6), 2);
  EXPECT_FALSE(place_of_member(group, 4).has_value());
}

TEST(Members, a_matrix_has_a_member_for_each_combination) {
  const JobSpec group = group_of(
      "command = 'train --lr {lr} --net {net} ${HOME} {other}'\nworkdir = \"/runs/{net}\"\n"
      "[env]\nRATE = \"{lr}\"\n[checkpoint]\ndir = \"c-{index}\"\n"
      "[matrix]\nmax_running = 4\nlr = [0.1, 0.03, 1e-5]\nnet = [\"a\", \"b\"]\n");
  EXPECT_EQ(member_count(group), 6);
  EXPECT_EQ(group.max_running, 4);
  const JobSpec member = member_spec(group, 12, 5);
  EXPECT_EQ(std::get<std::string>(member.command), "train --lr 1e-05 --net b ${HOME} {other}");
  EXPECT_EQ(member.workdir, "/runs/b");
  EXPECT_EQ(member.env.at("RATE"), "1e-05");
  EXPECT_EQ(member.env.at("SCHEDULEARN_MATRIX_LR"), "1e-05");
  EXPECT_EQ(member.checkpoint.dir, "c-5");
  EXPECT_EQ(member_spec(group, 12, 1).workdir, "/runs/b") << "the last key varies fastest";
  EXPECT_EQ(std::get<std::string>(member_spec(group, 12, 2).command), "train --lr 0.03 --net a ${HOME} {other}");
}

TEST(Members, an_array_beside_a_matrix_chooses_combinations) {
  const JobSpec group =
      group_of("command = 'x {lr} {seed}'\narray = \"1,3\"\n[matrix]\nlr = [0.1, 0.2]\nseed = [7, 8]\n");
  EXPECT_EQ(member_count(group), 2);
  EXPECT_EQ(member_index(group, 1), 3);
  EXPECT_EQ(place_of_member(group, 3), 1);
  EXPECT_FALSE(place_of_member(group, 2).has_value());
  EXPECT_EQ(std::get<std::string>(member_spec(group, 12, 1).command), "x 0.2 8");
  EXPECT_EQ(std::get<std::string>(member_spec(group, 12, 0).command), "x 0.1 8");
  const auto outside = parse_job_toml("command = 'x'\narray = \"3-4\"\n[matrix]\nlr = [1, 2, 3, 4]\n", "/");
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().code, "bad-array");
}

TEST(Members, an_array_as_slurm_writes_it_is_told_how_it_is_written_here) {
  const auto refused = parse_job_toml("command = 'x'\narray = \"0-9%4\"\n", "/");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().hints.front(), "--array 0-9 --max-running 4");
}

TEST(Members, a_name_without_a_number_gets_one) {
  const JobSpec group = group_of("command = \"x\"\nname = \"sweep\"\narray = \"0-9\"\n");
  EXPECT_EQ(member_spec(group, 1, 7).name, "sweep-7");
}

TEST(Members, braces_that_end_nowhere_stay) {
  const JobSpec group = group_of("command = 'a {index} {b {index} { {'\narray = \"4\"\n");
  EXPECT_EQ(std::get<std::string>(member_spec(group, 1, 0).command), "a 4 {b 4 { {");
}

TEST(Members, a_group_is_read_back_as_it_was_written) {
  const JobSpec group = group_of(
      "command = \"x\"\nafter = [3, 4]\nafter_any = [5]\nnot_before = 2026-11-23T21:00:00+01:00\n"
      "[matrix]\nlr = [0.1, \"x\"]\nmax_running = 3\n");
  EXPECT_EQ(group.not_before, "2026-11-23T20:00:00.000Z");
  const auto again = parse_job_json(write_json(group), "/");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(write_json(*again), write_json(group));
  EXPECT_EQ(write_json(*read_json<JobSpec>(spec_text(group))), write_json(group));
}

TEST(Members, too_many_are_refused_without_counting_them) {
  std::string toml = "command = \"x\"\n[matrix]\n";
  for (char key = 'a'; key <= 'j'; ++key) {
    toml += std::string(1, key) + " = [";
    for (int i = 0; i < 100; ++i) toml += (i ? "," : "") + std::to_string(i);
    toml += "]\n";
  }
  EXPECT_EQ(parse_job_toml(toml, "/").error().code, "too-many-members");
}

TEST(Times, are_read_with_their_offset) {
  EXPECT_EQ(*parse_time_us("1970-01-01T00:00:01Z"), 1'000'000);
  EXPECT_EQ(*parse_time_us("2026-11-23T21:00:00.25+01:00"), *parse_time_us("2026-11-23 20:00:00.25Z"));
  EXPECT_EQ(time_text(*parse_time_us("2026-11-23T21:00-02:30")), "2026-11-23T23:30:00.000Z");
  EXPECT_EQ(time_text(*parse_time_us("2028-02-29T00:00:00.123Z")), "2028-02-29T00:00:00.123Z");
  for (const char* text :
       {"", "21:00", "2026-11-23", "2026-11-23T21:00:00", "2026-13-01T00:00:00Z", "2027-02-29T00:00:00Z",
        "2026-11-23T21:00:60Z", "2026-11-23T21:00:00+1:00", "2026-11-23T21:00:00Zz", "9999-99-99T99:99:99Z",
        "1969-12-31T23:59:59Z", "2026-11-23T21:00:00."})
    EXPECT_EQ(parse_time_us(text).ok() ? "read" : parse_time_us(text).error().code, "bad-time") << text;
}

}  // namespace
}  // namespace sl::wire
