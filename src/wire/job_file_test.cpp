#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wire/job_file.h"
#include "wire/job_spec.h"
#include "wire/json.h"
#include "wire/utf8.h"

namespace sl::wire {
namespace {

TEST(JobFile, toml_and_json_mean_the_same) {
  const auto toml = parse_job_toml(
      "name = \"n\"\ncommand = \"c\"\ngpus = \"1..4\"\n[time]\nlimit = \"1h30m\"\n[resources]\nmemory = "
      "\"2G\"\ngpu_type = \"A\"\n[checkpoint]\ndir = \"k\"\n",
      "/base");
  const auto json = parse_job_json(
      R"({"name": "n", "command": "c", "gpus": {"min": 1, "max": 4}, "time_limit_s": 5400, "resources": {"memory_bytes": 2147483648, "gpu_type": ["A"]}, "checkpoint": {"dir": "k"}})",
      "/base");
  ASSERT_TRUE(toml.ok()) << toml.error().message;
  ASSERT_TRUE(json.ok()) << json.error().message;
  EXPECT_EQ(write_json(*toml), write_json(*json));
  EXPECT_EQ(toml->workdir, "/base");
}

TEST(JobFile, a_normalised_job_is_read_back_as_itself) {
  const auto spec =
      parse_job_json(R"({"command": ["x"], "gpus": 2, "env": {"A": "b"}, "retry": {"max": 2, "on": ["any"]}})", "/w");
  ASSERT_TRUE(spec.ok());
  const auto again = parse_job_json(write_json(*spec), "/elsewhere");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(write_json(*spec), write_json(*again));
}

TEST(JobFile, errors_have_line_and_column_or_the_key) {
  EXPECT_EQ(parse_job_toml("command = \"x\"\ngpus = \n", "/").error().code, "malformed-toml");
  EXPECT_TRUE(parse_job_toml("command = \"x\"\ngpus = \n", "/").error().pointer.starts_with("line 2"));
  EXPECT_EQ(parse_job_toml("command = \"x\"\n[time]\nlimt = \"5s\"\n", "/").error().hints.front(),
            "did you mean limit?");
}

TEST(JobFile, a_pointer_leads_to_the_line_of_what_it_names) {
  const char* text = "gpus = 2\n[resources]\non = [\"a\", \"b\"]\n";
  const auto place = [&](const char* pointer, bool of_key = false) {
    const auto at = place_in_toml(text, pointer, of_key);
    return at ? place_text(*at) : "nowhere";
  };
  EXPECT_EQ(place("/gpus"), "line 1, column 8");
  EXPECT_EQ(place("/gpus", true), "line 1, column 1");
  EXPECT_EQ(place("/resources/on/1"), "line 3, column 12");
  EXPECT_EQ(place("/resources/on/1", true), "line 3, column 1");
  for (const char* missing : {"/name", "/gpus/0", "/resources/on/2", "/resources/on/-1", "/resources/on/x"})
    EXPECT_EQ(place(missing), "nowhere") << missing;
  EXPECT_FALSE(place_in_toml("gpus = ", "/gpus", false));
  EXPECT_EQ(place_text(*place_in_toml("[env]\n\"A/B~1\" = 5\n", "/env/A~1B~01", false)), "line 2, column 11");
}

TEST(JobFile, numbers_are_texts_of_the_same_quantity) {
  const auto spec = parse_job_toml("command = \"x\"\n[time]\nlimit = 90\n[resources]\nmemory = 1024\n", "/");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->time_limit_s, 90);
  EXPECT_EQ(spec->resources.memory_bytes, 1024);
}

TEST(JobFile, the_five_keys_of_the_original_are_understood) {
  const auto spec = parse_job_json(
      R"({"name": "m", "type": "pytorch", "container_image": "", "command": "c", "required_gpus": 3})", "/");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->framework, "pytorch");
  EXPECT_EQ(spec->gpus.max, 3);
  EXPECT_EQ(spec->launch, "none");
  const auto container = parse_job_json(
      R"({"name": "m", "type": "pytorch", "container_image": "a/b", "command": "c", "required_gpus": 3})", "/");
  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_EQ(container->image, "a/b");
  EXPECT_EQ(container->launch, "horovod");
  EXPECT_EQ(container->workdir, "");
  EXPECT_EQ(parse_job_json(R"({"command": "c", "container_image": "a/b", "launch": "none"})", "/")->launch, "none");
}

TEST(JobFile, a_job_with_an_image_begins_where_the_image_says_unless_it_has_a_workdir) {
  EXPECT_EQ(parse_job_toml("command = 'x'\nimage = 'a/b'", "/home/mei")->workdir, "");
  EXPECT_EQ(parse_job_toml("command = 'x'\nimage = 'a/b'\nworkdir = '.'", "/home/mei")->workdir, "/home/mei");
  EXPECT_EQ(parse_job_toml("command = 'x'", "/home/mei")->workdir, "/home/mei");
}

TEST(JobFile, mounts_are_relative_to_the_file_and_read_only_unless_they_say_otherwise) {
  const auto spec = parse_job_toml("command = 'x'\nimage = 'a'\nmounts = ['data', '/a:/b:rw']", "/home/mei");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  ASSERT_EQ(spec->mounts, (std::vector<std::string>{"/home/mei/data", "/a:/b:rw"}));
  const auto data = parse_mount(spec->mounts[0]), a = parse_mount(spec->mounts[1]);
  EXPECT_EQ(data->to, "/home/mei/data");
  EXPECT_FALSE(data->writable);
  EXPECT_EQ(a->from, "/a");
  EXPECT_EQ(a->to, "/b");
  EXPECT_TRUE(a->writable);
}

TEST(JobFile, what_is_not_asked_for_is_no_reason_to_refuse) {
  EXPECT_TRUE(parse_job_json(R"({"command": "c", "image": null, "secrets": [], "mounts": [], "after": [],
                                 "not_before": null, "notify": [], "snapshot": "none"})",
                             "/")
                  .ok());
}

struct BadFile {
  const char *toml, *code, *pointer;
  friend std::ostream& operator<<(std::ostream& out, const BadFile& file) { return out << file.toml; }
};

// The name of the case in the list of tests.
std::string place_of(const testing::TestParamInfo<BadFile>& info) {
  std::string name = std::to_string(info.index);
  for (const char c : std::string(info.param.code) + info.param.pointer)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

class BadJobFile : public testing::TestWithParam<BadFile> {};

TEST_P(BadJobFile, is_refused_with_its_code_and_place) {
  const auto spec = parse_job_toml(GetParam().toml, "/base");
  ASSERT_FALSE(spec.ok()) << GetParam().toml;
  EXPECT_EQ(spec.error().kind, ErrorKind::invalid);
  EXPECT_EQ(spec.error().code, GetParam().code) << spec.error().message;
  EXPECT_EQ(spec.error().pointer, GetParam().pointer);
  EXPECT_TRUE(spec.error().code != "not-supported-yet" || !spec.error().hints.empty()) << "says what to do";
}

constexpr BadFile bad_files[] = {
    {"", "empty-command", "/command"},
    {"command = \"  \"", "empty-command", "/command"},
    {"command = []", "empty-command", "/command"},
    {"command = [\"\", \"x\"]", "empty-command", "/command"},
    {"command = 5", "wrong-type", "/command"},
    {"command = [\"a\", 5]", "wrong-type", "/command/1"},
    {"command = \"a\\u0000b\"", "bad-text", "/command"},
    {"command = \"x\"\ngpus = -1", "bad-gpus", "/gpus"},
    {"command = \"x\"\ngpus = 4097", "bad-gpus", "/gpus"},
    {"command = \"x\"\ngpus = 9223372036854775807", "bad-gpus", "/gpus"},
    {"command = \"x\"\ngpus = inf", "bad-gpus", "/gpus"},
    {"command = \"x\"\ngpus = nan", "wrong-type", "/gpus"},
    {"command = \"x\"\ngpus = 1.5", "wrong-type", "/gpus"},
    {"command = \"x\"\ngpus = true", "wrong-type", "/gpus"},
    {"command = \"x\"\ngpus = []", "bad-gpus", "/gpus"},
    {"command = \"x\"\ngpus = [1, 2, 2]", "bad-gpus", "/gpus"},
    {"command = \"x\"\ngpus = [1, \"a\"]", "wrong-type", "/gpus/1"},
    {"command = \"x\"\ngpus = \"1,x\"", "bad-gpus", "/gpus"},
    {"command = \"x\"\n[[roles]]\nname = \"a b\"", "bad-roles", "/roles/0/name"},
    {"command = \"x\"\n[[roles]]\nname = \"a\"\n[[roles]]\nname = \"a\"", "bad-roles", "/roles/1/name"},
    {"command = \"x\"\n[[roles]]\nname = \"a\"\ncount = 0", "bad-roles", "/roles/0/count"},
    {"command = \"x\"\n[[roles]]\nname = \"a\"\ncount = 2\ncount_min = 3", "bad-roles", "/roles/0/count_min"},
    {"command = \"x\"\n[[roles]]\nname = \"a\"\ngpus = 2", "bad-roles", "/roles/0/gpus"},
    {"command = \"x\"\n[[roles]]\nname = \"a\"\ngpus = 0", "bad-roles", "/roles"},
    {"command = \"x\"\n[[roles]]\nname = \"a\"\nmembers = 2", "unknown-key", "/roles/0/members"},
    {"command = \"x\"\n[[roles]]\nname = \"a\"\nresources = {memory = \"much\"}", "bad-size",
     "/roles/0/resources/memory"},
    {"command = \"x\"\n[[roles]]\nname = \"a\"\nresources = {cpus = -1}", "bad-roles", "/roles/0/resources"},
    {"command = \"x\"\n[[roles]]\nname = \"w\"\n[[roles]]\nname = \"s\"\ngpus = 0\ncount = 2\ncount_min = 1",
     "bad-roles", "/roles/1/count_min"},
    {"command = \"x\"\ngpus = 3\n[[roles]]\nname = \"a\"", "bad-roles", "/gpus"},
    {"command = \"x\"\nlaunch = \"torchrun\"\n[[roles]]\nname = \"a\"", "bad-roles", "/launch"},
    {"command = \"x\"\n[resources]\ncpus = 3\n[[roles]]\nname = \"a\"", "bad-roles", "/resources/cpus"},
    {"command = \"x\"\nroles = 3", "wrong-type", "/roles"},
    {"command = \"x\"\nweight = 0", "bad-weight", "/weight"},
    {"command = \"x\"\nweight = \"heavy\"", "wrong-type", "/weight"},
    {"command = \"x\"\n[training]\nepochs = 0", "bad-training", "/training/epochs"},
    {"command = \"x\"\n[training]\nepochs = 1.5", "wrong-type", "/training/epochs"},
    {"command = \"x\"\n[training]\nepcohs = 1", "unknown-key", "/training/epcohs"},
    {"command = \"x\"\n[training]\ntarget_loss = nan", "bad-training", "/training/target_loss"},
    {"command = \"x\"\n[training]\ntarget_loss = \"low\"", "bad-training", "/training/target_loss"},
    {"command = \"x\"\n[training]\nmodel_bytes = \"big\"", "bad-size", "/training/model_bytes"},
    {"command = \"x\"\n[training]\nmode = \"all_reduced\"", "bad-training", "/training/mode"},
    {"command = \"x\"\n[training]\nfamily = \"\"", "bad-training", "/training/family"},
    {"command = \"x\"\n[training]\nbatch_size_max = 8", "unknown-key", "/training/batch_size_max"},
    {"command = \"x\"\n[training]\nmodel_bytes = 1\nlargest_tensor_bytes = 2", "bad-training",
     "/training/largest_tensor_bytes"},
    {"command = \"x\"\ngpus = \"many\"", "bad-gpus", "/gpus"},
    {"command = \"x\"\ngpus = \"4..1\"", "bad-gpus", "/gpus"},
    {"command = \"x\"\ngpus = \"0..2\"", "bad-gpus", "/gpus"},
    {"command = \"x\"\ngpus = [0, 2]", "bad-gpus", "/gpus"},
    {"command = \"x\"\ngpus = 0\nservers = 2", "bad-servers", "/servers"},
    {"command = \"x.py\"\ngpus = 0\nlaunch = \"torchrun\"", "bad-launch", "/launch"},
    {"command = \"x\"\ngpus = 0\nlaunch = \"ranks\"", "bad-launch", "/launch"},
    {"command = \"x\"\ngpus = 0\nresize = \"in_place\"\n[checkpoint]\ndir = \"/c\"", "bad-resize", "/resize"},
    {"command = \"x\"\ngpus = 0\n[resources]\ngpu_type = \"T4\"", "bad-resources", "/resources/gpu_type"},
    {"command = \"x\"\ngpus = 0\n[resources]\ngpu_memory = \"8 GiB\"", "bad-resources", "/resources/gpu_memory"},
    {"command = \"x\"\ngpus = 0\n[resources]\nshare = true", "bad-resources", "/resources/share"},
    {"command = \"x\"\nservers = 2", "bad-servers", "/servers"},
    {"command = \"x\"\nservers = 0", "bad-servers", "/servers"},
    {"command = \"horovodrun -np 2 x\"\nlaunch = \"horovod\"", "bad-launch", "/launch"},
    {"command = \"mpirun -np 2 x\"\nlaunch = \"mpi\"", "bad-launch", "/launch"},
    {"command = \"x\"\noutput_limit = \"1 KiB\"", "bad-output-limit", "/output_limit"},
    {"command = \"x\"\non_partition = \"stpo\"", "bad-on-partition", "/on_partition"},
    {"command = \"x\"\nlaunch = \"torchrnu\"", "bad-launch", "/launch"},
    {"command = \"x\"\nimage = \"a b\"", "bad-image", "/image"},
    {"command = \"x\"\nimage = \"\"", "bad-image", "/image"},
    {"command = \"x\"\n[resources]\nshm = \"8MiB\"", "bad-resources", "/resources/shm"},
    {"command = \"x\"\n[resources]\nprocesses = 4194305", "bad-resources", "/resources/processes"},
    {"command = \"x\"\nimage = \"../a\"", "bad-image", "/image"},
    {"command = \"x\"\nimage = \"Net:1\"", "bad-image", "/image"},
    {"command = \"x\"\nimage = \"a:b:c\"", "bad-image", "/image"},
    {"command = \"x\"\nimage = \"http://lab/net\"", "bad-image", "/image"},
    {"command = \"x\"\nimage = \"localhost/../net\"", "bad-image", "/image"},
    {"command = \"x\"\nimage = \"net@sha256:1\"", "bad-image", "/image"},
    {"command = \"x\"\nimage = \"a\"\nlaunch = \"horovod\"\ngpus = 2\nservers = 2", "not-supported-yet", "/servers"},
    {"command = \"x\"\nimage = \"a\"\nmounts = [\"/a:b\"]", "bad-mounts", "/mounts"},
    {"command = \"x\"\nimage = \"a\"\nmounts = [\"/a:/b:wr\"]", "bad-mounts", "/mounts"},
    {"command = \"x\"\nimage = \"a\"\nmounts = [\"/a:/b/../c\"]", "bad-mounts", "/mounts"},
    {"command = \"x\"\nimage = \"a\"\nmounts = [\"/a:/proc/self\"]", "bad-mounts", "/mounts"},
    {"command = \"x\"\nimage = \"a\"\nmounts = [\"/a://proc\"]", "bad-mounts", "/mounts"},
    {"command = \"x\"\nimage = \"a\"\nmounts = [\"/a:/./proc\"]", "bad-mounts", "/mounts"},
    {"command = \"x\"\nimage = \"a\"\nmounts = [\"/a:/b,source=/root:rw\"]", "bad-mounts", "/mounts"},
    {"command = \"x\"\nimage = \"a\"\nmounts = [\"/a,U=true\"]", "bad-mounts", "/mounts"},
    {"command = \"x\"\nimage = \"a\"\nmounts = [\"/a:/c\", \"/b:/c\"]", "bad-mounts", "/mounts"},
    {"command = \"x\"\nimage = \"a\"\n[checkpoint]\ndir = \"ck\"", "bad-checkpoint", "/checkpoint/dir"},
    {"command = \"x\"\nsnapshot = \"gti\"", "bad-snapshot", "/snapshot"},
    {"command = \"x\"\n[snapshot]\nkind = \"git\"\nid = \"1\"", "bad-snapshot", "/snapshot"},
    {"command = \"x\"\n[snapshot]\nkind = \"git\"\ndiff = \"1\"", "bad-snapshot", "/snapshot"},
    {"command = \"x\"\n[snapshot]\nkind = \"git\"\nsubfolder = \"a/../..\"", "bad-snapshot", "/snapshot"},
    {"command = \"x\"\n[snapshot]\nkind = \"git\"\nsubfolder = \"/etc\"", "bad-snapshot", "/snapshot"},
    {"command = \"x\"\nsnapshot = 1", "wrong-type", "/snapshot"},
    {"command = \"x\"\nsetup = [\"make\", \"\"]", "bad-setup", "/setup"},
    {"command = \"x\"\nafter = [\"a\"]", "bad-after", "/after"},
    {"command = \"x\"\nafter_any = [0]", "bad-after", "/after_any"},
    {"command = \"x\"\nafter = 1.5", "bad-after", "/after"},
    {"command = \"x\"\narray = \"-1\"", "bad-array", "/array"},
    {"command = \"x\"\narray = -1", "bad-array", "/array"},
    {"command = \"x\"\narray = \"5-3\"", "bad-array", "/array"},
    {"command = \"x\"\narray = \"\"", "bad-array", "/array"},
    {"command = \"x\"\narray = \"0-100000\"", "too-many-members", "/array"},
    {"command = \"x\"\nmax_running = 2", "bad-max-running", "/max_running"},
    {"command = \"x\"\narray = \"0-1\"\nmax_running = -1", "bad-max-running", "/max_running"},
    {"command = \"x\"\n[matrix]\nlr = []", "bad-matrix", "/matrix/lr"},
    {"command = \"x\"\n[matrix]\nindex = [1]", "bad-matrix", "/matrix"},
    {"command = \"x\"\n[matrix]\nlr = [[1]]", "wrong-type", "/matrix/lr"},
    {"command = \"x\"\narray = \"0-1\"\n[matrix]\nlr = [1]", "bad-array", "/array"},
    {"command = \"x\"\nsecrets = [\"a/b\"]", "bad-secret", "/secrets"},
    {"command = \"x\"\nsecrets = [\"../a\"]", "bad-secret", "/secrets"},
    {"command = \"x\"\nsecrets = [\"1A=a\"]", "bad-secret", "/secrets"},
    {"command = \"x\"\nsecrets = [\"=a\"]", "bad-secret", "/secrets"},
    {"command = \"x\"\nsecrets = [\"SCHEDULEARN_URL=a\"]", "bad-secret", "/secrets"},
    {"command = \"x\"\n[ports]\nweb = 80", "bad-port", "/ports/web"},
    {"command = \"x\"\n[ports]\nweb = 65536", "bad-port", "/ports/web"},
    {"command = \"x\"\n[ports]\nweb = -1", "bad-port", "/ports/web"},
    {"command = \"x\"\n[ports]\n\"a b\" = 0", "bad-port", "/ports/a b"},
    {"command = \"x\"\n[ports]\na = 5000\nb = 5000", "bad-port", "/ports/a"},
    {"command = \"x\"\n[ports]\nweb = 0\nWEB = 0", "bad-port", "/ports/WEB"},
    {"command = \"x\"\n[ports]\nweb = \"8888\"", "wrong-type", "/ports/web"},
    {"command = \"x\"\n[ports]\nweb = {port = 0, keep = true}", "unknown-key", "/ports/web/keep"},
    {"command = \"x\"\nmounts = [\"/a\"]", "bad-mounts", "/mounts"},
    {"command = \"x\"\nenv_file = \".env\"", "unknown-key", "/env_file"},
    {"command = \"x\"\n[[notify]]\nto = \"a/b\"", "bad-notify", "/notify/0/to"},
    {"command = \"x\"\n[[notify]]\non = [\"failed\"]", "bad-notify", "/notify/0/to"},
    {"command = \"x\"\n[[notify]]\nto = \"a\"\non = [\"failed\", \"faild\"]", "bad-notify", "/notify/0/on/1"},
    {"command = \"x\"\n[[notify]]\nto = \"a\"\non = [\"server_down\"]", "bad-notify", "/notify/0/on/0"},
    {"command = \"x\"\n[[notify]]\nto = \"a\"\non = []", "bad-notify", "/notify/0/on"},
    {"command = \"x\"\n[[notify]]\nto = \"a\"\nwhen = []", "unknown-key", "/notify/0/when"},
    {"command = \"x\"\n[[notify]]\nto = \"a:b c\"", "bad-notify", "/notify/0/to"},
    {"command = \"x\"\nnotify = \"a\"", "wrong-type", "/notify"},
    {"command = \"x\"\n[[on_log]]\npattern = \"a\"", "unknown-key", "/on_log"},
    {"command = \"x\"\n[metrics]\npattern = \"a\"", "unknown-key", "/metrics"},
    {"command = \"x\"\n[progress]\npattern = \"epoch\"", "bad-progress", "/progress/pattern"},
    {"command = \"x\"\n[progress]\npattern = \"{done}\"\ntotal = 0", "bad-progress", "/progress/total"},
    {"command = \"x\"\n[resources]\non = [\"gpu 4\"]", "bad-servers", "/resources/on"},
    {"command = \"x\"\n[resources]\nnot_on = [\"\"]", "bad-servers", "/resources/not_on"},
    {"command = \"x\"\n[resources]\nshare = 1", "wrong-type", "/resources/share"},
    {"command = \"x\"\n[time]\nnot_before = \"18:00\"", "bad-time", "/time/not_before"},
    {"command = \"x\"\nnot_before = 2026-11-23T18:00:00", "bad-time", "/not_before"},
    {"command = \"x\"\nnot_before = \"2026-02-30T18:00:00Z\"", "bad-time", "/not_before"},
    {"command = \"x\"\nnot_before = \"2026-02-20T24:00:00Z\"", "bad-time", "/not_before"},
    {"command = \"x\"\n[checkpoint]\nevery = 0", "bad-time", "/checkpoint/every"},
    {"command = \"x\"\n[retry]\nbackoff = \"2d\"", "bad-time", "/retry/backoff"},
    {"command = \"x\"\nname = \"a\\nb\"", "bad-name", "/name"},
    {"command = \"x\"\nname = \"a\\u0007\"", "bad-name", "/name"},
    {"command = \"x\"\nuser = \"a\\tb\"", "bad-user", "/user"},
    {"command = \"x\"\nnmae = \"a\"", "unknown-key", "/nmae"},
    {"command = \"x\"\n[time]\nlimt = 5", "unknown-key", "/time/limt"},
    {"command = \"x\"\ntime = 5", "wrong-type", "/time"},
    {"command = \"x\"\n[time]\nlimit = \"soon\"", "bad-duration", "/time/limit"},
    {"command = \"x\"\n[time]\nlimit = -5", "bad-time", "/time/limit"},
    {"command = \"x\"\n[time]\nlimit = nan", "wrong-type", "/time/limit"},
    {"command = \"x\"\n[time]\nestimate = 0", "bad-time", "/time/estimate"},
    {"command = \"x\"\n[resources]\nmemory = \"lots\"", "bad-size", "/resources/memory"},
    {"command = \"x\"\n[resources]\nmemory = 1e300", "wrong-type", "/resources/memory"},
    {"command = \"x\"\n[resources]\nmemory = -1", "bad-resources", "/resources/memory"},
    {"command = \"x\"\nimage = \"a\"\n[resources]\nshm = -1", "bad-resources", "/resources/shm"},
    {"command = \"x\"\n[resources]\ncpus = 99999999999", "wrong-type", "/resources/cpus"},
    {"command = \"x\"\npriority = \"high\"", "wrong-type", "/priority"},
    {"command = \"x\"\n[env]\nA = 1", "wrong-type", "/env/A"},
    {"command = \"x\"\n[env]\n\"A=B\" = \"1\"", "bad-env", "/env"},
    {"command = \"x\"\n[env]\nA = \"\\u0000\"", "bad-text", "/env"},
    {"command = \"x\"\n[labels]\nA = \"a\\nb\"", "bad-label", "/labels"},
    {"command = \"x\"\n[checkpoint]\nsignal = \"USR3\"", "bad-signal", "/checkpoint/signal"},
    {"command = \"x\"\n[checkpoint]\ngrace = \"2d\"", "bad-time", "/checkpoint/grace"},
    {"command = \"x\"\n[retry]\nmax = -1", "bad-retry", "/retry/max"},
    {"command = \"x\"\n[retry]\non = [\"server_los\"]", "bad-retry", "/retry/on"},
    {"command = \"x\"\n[retry]\non = [\"exit:\"]", "bad-retry", "/retry/on"},
    {"command = \"x\"\n[retry]\non = [\"time_limit\"]", "bad-retry", "/retry/on"},
    {"command = \"x\"\ngpus = \n", "malformed-toml", "line 2, column 8"},
    {"command = \"x", "malformed-toml", "line 1, column 13"},
};
INSTANTIATE_TEST_SUITE_P(Table, BadJobFile, testing::ValuesIn(bad_files), place_of);

TEST(JobFile, whole_numbers_beyond_those_of_jobs_are_refused_or_kept_as_they_are) {
  for (const char* key : {"after", "after_any"}) {
    const std::string text = std::string(R"({"command": "x", ")") + key + R"(": [10000000000000000000]})";
    EXPECT_EQ(parse_job_json(text, "/").error().code, "bad-after") << key;
  }
  const auto spec = parse_job_json(R"({"command": "x {a}", "matrix": {"a": [10000000000000000000, -3]}})", "/");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
}

TEST(JobFile, keys_do_not_nest_without_end) {
  std::string deep = "a";
  for (int i = 0; i < 200'000; ++i) deep += ".a";
  EXPECT_EQ(parse_job_toml(deep + " = 1", "/").error().code, "malformed-toml");
  EXPECT_EQ(parse_job_toml("[" + deep + "]", "/").error().code, "malformed-toml");
}

TEST(JobFile, a_command_that_starts_torchrun_itself_needs_no_launch) {
  const auto refused = [](const std::string& command) {
    return parse_job_toml("command = " + command + "\nlaunch = \"torchrun\"", "/").error().message;
  };
  for (const char* command : {"\"torchrun --nproc_per_node 2 x.py\"", "[\"torchrun\", \"x.py\"]",
                              "\"cd a && torchrun x.py\"", "\"/opt/bin/torchrun x.py\""})
    EXPECT_EQ(refused(command), "launch = \"torchrun\" starts torchrun, and so does the command") << command;
  EXPECT_EQ(refused("\"make\""), "torchrun starts Python programs, and this command starts none");
  EXPECT_TRUE(parse_job_toml("command = \"python torchrun.py\"\nlaunch = \"torchrun\"", "/").ok());
}

TEST(JobFile, a_name_has_an_end) {
  EXPECT_TRUE(parse_job_toml("command = \"x\"\nname = \"" + std::string(128, 'n') + "\"", "/").ok());
  EXPECT_EQ(parse_job_toml("command = \"x\"\nname = \"" + std::string(129, 'n') + "\"", "/").error().code, "bad-name");
}

TEST(JobFile, text_that_is_not_utf8_is_refused_before_it_becomes_json) {
  JobSpec spec;
  spec.command = std::vector<std::string>{"echo", "\xff\xfe"};
  EXPECT_EQ(validate(spec).error().code, "bad-text");
  for (const char* bad : {"\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    spec.command = std::string("echo ") + bad;
    EXPECT_EQ(validate(spec).error().code, "bad-text");
  }
  spec.command = "echo \xe2\x82\xac \xf0\x9f\x98\x80";
  EXPECT_TRUE(validate(spec).ok());
}

TEST(JobFile, text_that_is_not_utf8_is_found_wherever_it_stands) {
  for (std::size_t length = 1; length < 40; ++length) {
    EXPECT_TRUE(is_utf8(std::string(length, 'a')));
    for (std::size_t at = 0; at < length; ++at) {
      std::string text(length, 'a');
      text[at] = '\xff';
      EXPECT_FALSE(is_utf8(text)) << at << " of " << length;
      text.replace(at, 1, "\xe2\x82\xac");
      EXPECT_TRUE(is_utf8(text)) << at << " of " << length;
    }
  }
}

TEST(JobFile, mistyped_words_get_a_suggestion) {
  EXPECT_EQ(parse_job_toml("command = \"x\"\nlaunch = \"torchrnu\"", "/").error().hints.front(),
            "did you mean torchrun?");
  EXPECT_EQ(parse_job_toml("command = \"x\"\n[checkpoint]\nsignal = \"SIGUSR3\"", "/").error().hints.front(),
            "did you mean USR1?");
}

RC_GTEST_PROP(JobFile, any_job_is_read_back_from_its_json_as_itself,
              (const std::vector<std::string>& words, const std::map<std::string, std::string>& labels)) {
  const auto plain = [](std::string text) {
    std::erase_if(text,
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E; });
    return text;
  };
  JobSpec spec;
  std::vector<std::string> command = {"program"};
  for (const std::string& word : words) command.push_back(plain(word));
  spec.command = command;
  for (const auto& [key, value] : labels) spec.labels["k" + plain(key)] = plain(value);
  spec.gpus = {*rc::gen::inRange(1, 9), *rc::gen::inRange(9, 4097)};
  spec.priority = *rc::gen::arbitrary<int>();
  spec.hold = *rc::gen::arbitrary<bool>();
  spec.workdir = "/w/" + plain(command.back());
  if (const auto normal = parse_job_json(write_json(spec), "/"); normal.ok()) spec.workdir = normal->workdir;
  spec.time_limit_s = *rc::gen::inRange(1, 1'000'000) / 8.0;
  spec.resources.memory_bytes = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 50);
  const auto back = parse_job_json(write_json(spec), "/elsewhere");
  RC_ASSERT(back.ok());
  RC_ASSERT(write_json(*back) == write_json(spec));
}

// Whatever bytes arrive, the result is a job or an error that says where.
RC_GTEST_PROP(JobFile, no_text_makes_the_readers_fall, (const std::string& text)) {
  const auto toml = parse_job_toml(text, "/");
  RC_ASSERT(toml.ok() || !toml.error().code.empty());
  const auto json = parse_job_json(text, "/");
  RC_ASSERT(json.ok() || !json.error().code.empty());
}

TEST(JobFile, what_is_said_of_a_training_means_the_same_as_number_and_as_text_and_reaches_the_model) {
  const auto file = parse_job_toml(R"(command = "x"
weight = 2
gpus = "1..4"
[resources]
share = true
[training]
family = "cnn"
epochs = 10
steps = 4690
batch_size = 128
target_loss = 0.3
budget = 12.5
mode = "all_reduce"
model_bytes = "4MiB"
largest_tensor_bytes = "1MiB"
checkpoint_bytes = "12MiB"
restart_s = "1m"
)",
                                   "/");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto flags = parse_job_json(R"({"command": "x", "weight": "2", "gpus": "1..4", "resources": {"share": true},
    "training": {"family": "cnn", "epochs": "10", "steps": "4690", "batch_size": "128",
    "target_loss": "0.3", "budget": "12.5", "mode": "all_reduce", "model_bytes": 4194304,
    "largest_tensor_bytes": 1048576, "checkpoint_bytes": 12582912, "restart_s": 60}})",
                                    "/");
  ASSERT_TRUE(flags.ok()) << flags.error().message;
  EXPECT_EQ(write_json(*file), write_json(*flags));
  EXPECT_EQ(write_json(*parse_job_json(write_json(*file), "/")), write_json(*file)) << "reads back as itself";
  JobModel expected;
  expected.epochs_total = 10, expected.steps_total = 4690, expected.batch_size = 128;
  expected.target_loss = 0.3, expected.budget = 12.5, expected.mode = TrainingMode::all_reduce;
  expected.parameter_bytes = 4 << 20, expected.largest_tensor_bytes = 1 << 20, expected.checkpoint_bytes = 12 << 20;
  expected.restart_cost = Duration::whole_seconds(60);
  JobModel model;
  tell(file->training, model);
  EXPECT_EQ(model, expected);
}

TEST(JobFile, the_numbers_of_gpus_a_job_may_have_are_a_list_or_its_text) {
  const auto file = parse_job_toml("command = \"x\"\ngpus = [1, 4, 2]", "/");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->gpus.min, 1);
  EXPECT_EQ(file->gpus.max, 4);
  EXPECT_EQ(file->gpus.allowed, (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(write_json(*parse_job_json(R"({"command": "x", "workdir": "/", "gpus": "1,2,4"})", "/")),
            write_json(*parse_job_json(write_json(*file), "/")));
}

TEST(JobFile, what_a_job_asks_for_follows_from_its_roles) {
  const auto file = parse_job_toml(R"(command = "x"
[[roles]]
name = "scheduler"
gpus = 0
[[roles]]
name = "server"
count = 2
gpus = 0
resources = {cpus = 4, memory = "8GiB"}
[[roles]]
name = "worker"
count = 4
count_min = 1
resources = {cpus = 2}
)",
                                   "/");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->gpus.min, 1);
  EXPECT_EQ(file->gpus.max, 4);
  EXPECT_EQ(file->resources.cpus, 16);
  EXPECT_EQ(file->resources.memory_bytes, std::int64_t{16} << 30);
  EXPECT_EQ(file->launch, "ranks");
  EXPECT_EQ(write_json(*parse_job_json(write_json(*file), "/")), write_json(*file)) << "is read back as itself";
  const std::vector<Role> roles = to_model(file->roles);
  ASSERT_EQ(roles.size(), 3u);
  EXPECT_EQ(roles[0].count_min, 1);
  EXPECT_EQ(roles[1].count_min, 2);
  EXPECT_EQ(roles[1].gpus, 0);
  EXPECT_EQ(roles[1].demand[Resource::memory], static_cast<double>(std::int64_t{8} << 30));
  EXPECT_EQ(roles[2].count_min, 1);
  EXPECT_EQ(roles[2].count_wanted, 4);
}

TEST(JobFile, every_fact_of_a_training_is_described_by_one_key) {
  std::vector<std::string> members, keys;
  boost::mp11::mp_for_each<detail::Members<TrainingSpec>>([&](auto member) { members.emplace_back(member.name); });
  for (const TrainingKey& key : training_keys()) {
    keys.emplace_back(key.name);
    EXPECT_FALSE(key.meaning.empty()) << key.name;
  }
  EXPECT_EQ(keys, members);
}

}  // namespace
}  // namespace sl::wire
