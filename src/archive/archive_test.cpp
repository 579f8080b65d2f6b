// Which files are code, and archives that come from anybody.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "archive/code_archive.h"
#include "archive/code_diff.h"
#include "archive/digest.h"
#include "archive/program.h"

namespace sl::archive {
namespace {

namespace fs = std::filesystem;

class ArchiveTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/schedulearn-archive-XXXXXX";
    top = ::mkdtemp(name);
    fs::create_directories(code());
  }
  void TearDown() override { fs::remove_all(top); }

  std::string code() const { return top / "code"; }
  std::string unpacked() const { return top / "unpacked"; }
  std::string tar() const { return top / "code.tar"; }
  void write(const std::string& path, const std::string& text = "text") const {
    fs::create_directories(fs::path(code() + "/" + path).parent_path());
    std::ofstream(code() + "/" + path) << text;
  }
  static std::string read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  void git(std::vector<std::string> words) const {
    std::vector<std::string> all = {
        "git", "-C", code(), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"};
    all.insert(all.end(), words.begin(), words.end());
    const auto end = run_program(all);
    ASSERT_TRUE(end.ok());
    ASSERT_EQ(end->status, 0) << end->errors;
  }
  void commit() const {
    git({"init", "--quiet"});
    git({"add", "-A"});
    git({"commit", "--quiet", "-m", "first"});
  }
  static std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
    return text;
  }

  // ---- archives made to harm: headers as in POSIX ustar ----
  void add_entry(const std::string& name, char type, const std::string& target = "", const std::string& data = "",
                 int mode = 0644) {
    std::string header(512, '\0');
    header.replace(0, name.size(), name);
    std::snprintf(&header[100], 8, "%07o", static_cast<unsigned>(mode));
    std::snprintf(&header[108], 8, "%07o", 0U);
    std::snprintf(&header[116], 8, "%07o", 0U);
    std::snprintf(&header[124], 12, "%011zo", data.size());
    std::snprintf(&header[136], 12, "%011o", 0U);
    header[156] = type;
    header.replace(157, target.size(), target);
    header.replace(257, 8, std::string("ustar\00000", 8));
    header.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    std::snprintf(&header[148], 8, "%06o", sum);
    bytes += header + data + std::string((512 - data.size() % 512) % 512, '\0');
  }
  Status unpack_entries() {
    std::ofstream(tar(), std::ios::binary) << bytes << std::string(1024, '\0');
    return unpack(tar(), unpacked());
  }

  fs::path top;
  std::string bytes;
};

// ---- what is code ----

TEST_F(ArchiveTest, a_repository_is_packed_as_a_whole_with_new_and_changed_files_and_without_ignored_ones) {
  write("train.py"), write("lib/net.py"), write("old.py"), write(".gitignore", "*.pt\ndata/\n");
  commit();
  write("train.py", "changed"), write("new.py"), write("model.pt"), write("data/a");
  fs::remove(code() + "/old.py");
  const auto found = code_of_repository(code() + "/lib");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(joined(found->files), ".gitignore lib/net.py new.py train.py");
  EXPECT_EQ(joined(found->changed), "old.py train.py new.py");
  EXPECT_EQ(found->subfolder, "lib");
  EXPECT_EQ(found->commit.size(), 12U);
  EXPECT_EQ(found->bytes, 11 + 4 + 4 + 7);
}

TEST_F(ArchiveTest, a_folder_of_which_git_ignores_everything_is_not_where_a_job_could_work) {
  write("train.py"), write("big/a"), write("kept.py"), write(".gitignore", "big/\n");
  commit();
  const auto found = code_of_repository(code() + "/big");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, "snapshot-empty");
  git({"rm", "--quiet", "--cached", "kept.py"});  // git lists it as removed and as new
  EXPECT_EQ(joined(code_of_repository(code())->changed), "kept.py");
}

TEST_F(ArchiveTest, a_folder_without_a_repository_follows_its_gitignore_too) {
  write("train.py"), write("deep/run.log"), write("deep/a.py"), write(".gitignore", "*.log\n!keep.log\n"),
      write("keep.log");
  const auto found = code_of_folder(code());
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(joined(found->files), ".gitignore deep/a.py keep.log train.py");
  EXPECT_EQ(found->commit, "");
  EXPECT_EQ(code_of_repository(code()).error().code, "not-a-repository");
  EXPECT_FALSE(fs::exists(code() + "/.git"));
}

TEST_F(ArchiveTest, a_copy_has_only_the_folder_even_inside_a_repository) {
  write("train.py"), write("lib/net.py");
  commit();
  const auto found = code_of_folder(code() + "/lib");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(joined(found->files), "net.py");
}

TEST_F(ArchiveTest, a_repository_inside_belongs_to_the_code_with_what_git_sees_in_it) {
  write("train.py");
  commit();
  write("inner/net.py"), write("inner/net.pt"), write("inner/.gitignore", "*.pt");
  ASSERT_TRUE(run_program({"git", "-C", code() + "/inner", "init", "--quiet"}).ok());
  const auto found = code_of_repository(code());
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(joined(found->files), "inner/.gitignore inner/net.py train.py");
}

// Data that was moved to a larger disk: git still lists what was in the folder.
TEST_F(ArchiveTest, of_a_folder_that_became_a_link_there_is_the_link) {
  write("train.py"), write("data/deep/labels.csv");
  commit();
  fs::rename(code() + "/data", top / "disk");
  fs::create_directory_symlink(top / "disk", code() + "/data");
  for (const auto& found : {code_of_repository(code()), code_of_folder(code())}) {
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(joined(found->files), "data train.py");
    ASSERT_TRUE(pack(*found, tar()).ok());
    const Status done = unpack(tar(), unpacked());
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_TRUE(fs::is_symlink(unpacked() + "/data"));
    fs::remove_all(unpacked());
  }
}

TEST_F(ArchiveTest, a_repository_inside_that_cannot_be_read_is_an_error) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  write("train.py"), write("inner/net.py");
  ASSERT_TRUE(run_program({"git", "-C", code() + "/inner", "init", "--quiet"}).ok());
  commit();
  fs::permissions(code() + "/inner", fs::perms::none);
  EXPECT_EQ(code_of_repository(code()).error().code, "snapshot-failed");
  fs::permissions(code() + "/inner", fs::perms::owner_all);
}

// Other trainings write in the folder, and what is temporary goes.
TEST_F(ArchiveTest, what_grows_or_goes_while_it_is_packed_does_not_stop_it) {
  write("train.py"), write("gone.tmp"), write("train.log", std::string(50'000'000, 'x'));
  const auto found = code_of_folder(code());
  ASSERT_TRUE(found.ok());
  fs::remove(code() + "/gone.tmp");
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    for (std::ofstream log(code() + "/train.log", std::ios::app); !is_over;) log << "more" << std::flush;
  });
  const Status packed = pack(*found, tar());
  is_over = true;
  writer.join();
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  ASSERT_TRUE(unpack(tar(), unpacked()).ok());
  EXPECT_TRUE(fs::exists(unpacked() + "/train.py"));
  EXPECT_GE(fs::file_size(unpacked() + "/train.log"), 50'000'000U);
}

TEST_F(ArchiveTest, nothing_to_pack_is_an_error) { EXPECT_EQ(code_of_folder(code()).error().code, "snapshot-empty"); }

TEST_F(ArchiveTest, the_largest_files_are_named) {
  write("small", "1"), write("large", std::string(100, 'x')), write("middle", "12345");
  const auto largest = largest_files(*code_of_folder(code()), 2);
  ASSERT_EQ(largest.size(), 2U);
  EXPECT_EQ(largest[0].first, "large");
  EXPECT_EQ(largest[1].second, 5);
}

// ---- what was changed ----

TEST_F(ArchiveTest, the_diff_has_changed_new_and_removed_files_also_binary_ones) {
  write("train.py", "one\ntwo\n"), write("old.py", "gone\n"), write("weights", std::string("a\0b", 3)),
      write(".gitignore", "*.pt\n");
  commit();
  git({"config", "color.diff", "always"});
  git({"config", "diff.noprefix", "true"});
  git({"config", "diff.external", "false"});
  write("train.py", "one\nthree\n"), write("weights", std::string("a\0c", 3)), write("model.pt", "x\n");
  write("lib/neü \"1\".py", "\xff\n"), write("inner/a.py", "a\n"), write("empty", "");
  ASSERT_TRUE(run_program({"git", "-C", code() + "/inner", "init", "--quiet"}).ok());
  fs::create_symlink("train.py", code() + "/latest");
  fs::remove(code() + "/old.py");
  const auto count_objects = [&] {
    return std::distance(fs::recursive_directory_iterator(code() + "/.git/objects"),
                         fs::recursive_directory_iterator());
  };
  const auto objects = count_objects();
  const auto found = code_of_repository(code() + "/lib");
  ASSERT_TRUE(found.ok()) << found.error().message;
  const auto diff = diff_of(*found, 1 << 20);
  ASSERT_TRUE(diff.ok()) << diff.error().message;
  EXPECT_EQ(diff->left_out, 0U);
  std::string lines;
  for (std::size_t at = 0; at < diff->text.size(); at = diff->text.find('\n', at) + 1) {
    const std::string line = diff->text.substr(at, diff->text.find('\n', at) - at);
    if (!line.starts_with("index ")) lines += line + "\n";
  }
  lines.erase(lines.find("literal "));  // as git has packed it
  EXPECT_EQ(lines,
            "diff --git a/empty b/empty\nnew file mode 100644\n"
            "diff --git a/latest b/latest\nnew file mode 120000\n--- /dev/null\n+++ b/latest\n@@ -0,0 +1 @@\n"
            "+train.py\n\\ No newline at end of file\n"
            "diff --git \"a/lib/neü \\\"1\\\".py\" \"b/lib/neü \\\"1\\\".py\"\nnew file mode 100644\n"
            "--- /dev/null\n+++ \"b/lib/neü \\\"1\\\".py\"\t\n@@ -0,0 +1 @@\n+\xff\n"
            "diff --git a/old.py b/old.py\ndeleted file mode 100644\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n"
            "-gone\n"
            "diff --git a/train.py b/train.py\n--- a/train.py\n+++ b/train.py\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"
            "diff --git a/weights b/weights\nGIT binary patch\n");
  EXPECT_EQ(count_objects(), objects) << "written into the repository";
  EXPECT_EQ(code_of_repository(code())->untracked, found->untracked) << "its index was changed";
}

TEST_F(ArchiveTest, without_a_commit_or_a_change_there_is_no_diff) {
  write("train.py");
  git({"init", "--quiet"});
  EXPECT_EQ(diff_of(*code_of_repository(code()), 1024)->text, "");
  commit();
  EXPECT_EQ(diff_of(*code_of_repository(code()), 1024)->text, "");
  EXPECT_EQ(diff_of(*code_of_folder(code()), 1024)->text, "");
}

TEST_F(ArchiveTest, what_is_kept_of_a_diff_can_be_applied_also_beside_binary_files_that_are_too_large) {
  const std::string binary("a\0b", 3), large = binary + std::string(5000, 'x');
  std::string random = binary;  // cannot be packed
  for (std::mt19937 numbers; random.size() < 4000;) random += static_cast<char>(numbers());
  write("train.py", "one\n"), write("weights", binary + "1"), write("old.bin", binary), write("huge", binary);
  commit();
  write("train.py", "two\n"), write("weights", binary + "2"), write("new one.bin", binary + "3");
  write("huge", large), write("new [huge]*", large), write("a.bin", random);
  fs::remove(code() + "/old.bin");
  const auto diff = diff_of(*code_of_repository(code()), 4096);
  ASSERT_TRUE(diff.ok()) << diff.error().message;
  EXPECT_EQ(diff->left_out, 2U);
  const std::string kept = cut_diff(*diff, 4096);
  EXPECT_NE(kept.find("\n# 3 more files differ; at most 4 KiB"), std::string::npos);

  const std::string again = code() + "-again", patch = again + ".patch";
  git({"worktree", "add", "--quiet", "--detach", again, "HEAD"});
  std::ofstream(patch) << kept;
  const auto applied = run_program({"git", "-C", again, "apply", patch});
  ASSERT_TRUE(applied.ok());
  EXPECT_EQ(applied->status, 0) << applied->errors;
  EXPECT_EQ(read(again + "/train.py"), "two\n");
  EXPECT_EQ(read(again + "/weights"), binary + "2");
  EXPECT_EQ(read(again + "/new one.bin"), binary + "3");
  EXPECT_EQ(read(again + "/huge"), binary);
  EXPECT_FALSE(fs::exists(again + "/old.bin"));
  EXPECT_FALSE(fs::exists(again + "/a.bin"));
}

TEST_F(ArchiveTest, a_diff_that_is_too_long_is_cut_between_files_and_says_so) {
  const auto file = [](const std::string& name, std::size_t length, const std::string& kind = "@@ -0,0 +1 @@\n+") {
    return "diff --git a/" + name + " b/" + name + "\n" + kind + std::string(length, 'x') + "\n";
  };
  const auto cut = [](const std::string& text, std::size_t bytes_max, std::size_t left_out = 0) {
    return cut_diff({text, left_out}, bytes_max);
  };
  const std::string small = file("a", 100), large = file("b", 3000), last = file("c", 200);
  EXPECT_EQ(cut(small + large + last, 4096), small + large + last);
  EXPECT_EQ(cut(small + large + last, 2048),
            small + last + "# 1 more file differs; at most 2 KiB of a diff are kept\n");
  EXPECT_EQ(cut(large + small + large, 2048), small + "# 2 more files differ; at most 2 KiB of a diff are kept\n");
  EXPECT_LE(cut(file("d", 1980) + large, 2048).size(), 2048U);
  EXPECT_EQ(cut(large, 1024), "# 1 more file differs; at most 1 KiB of a diff are kept\n");
  EXPECT_EQ(cut(small, 1024, 1), small + "# 1 more file differs; at most 1 KiB of a diff are kept\n");
  const std::string binary = file("d", 1000, "GIT binary patch\nliteral 3\n");
  EXPECT_EQ(cut(binary + file("e", 1100) + small, 2048),
            file("e", 1100) + small + "# 1 more file differs; at most 2 KiB of a diff are kept\n")
      << "binary files give way";
}

// ---- packing ----

TEST_F(ArchiveTest, what_is_packed_is_what_is_unpacked_and_the_same_files_give_the_same_bytes) {
  write("train.py", "one"), write("-rf", "two"), write("with space\nand line", "three");
  ::chmod((code() + "/train.py").c_str(), 0755);
  fs::create_symlink("train.py", code() + "/latest");
  fs::create_hard_link(code() + "/train.py", code() + "/twin");
  ASSERT_TRUE(pack(*code_of_folder(code()), tar()).ok());
  const std::string first = *digest_of_file(tar());
  ASSERT_TRUE(pack(*code_of_folder(code()), tar()).ok());
  EXPECT_EQ(*digest_of_file(tar()), first);
  EXPECT_TRUE(is_digest(first));
  const Status done = unpack(tar(), unpacked());
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(read(unpacked() + "/-rf"), "two");
  EXPECT_EQ(read(unpacked() + "/with space\nand line"), "three");
  EXPECT_EQ(fs::read_symlink(unpacked() + "/latest"), "train.py");
  EXPECT_EQ(::access((unpacked() + "/train.py").c_str(), X_OK), 0);
  EXPECT_EQ(fs::hard_link_count(unpacked() + "/twin"), 1U);
}

// ---- hostile archives ----

TEST_F(ArchiveTest, names_that_lead_out_of_the_folder_write_nothing_there) {
  using namespace std::string_literals;
  for (const std::string& name : {"../escaped"s, "a/../../escaped"s, (top / "escaped").string()})
    bytes.clear(), add_entry(name, '0', "", "x"), (void)unpack_entries(), fs::remove_all(unpacked());
  EXPECT_FALSE(fs::exists(top / "escaped"));
  EXPECT_FALSE(fs::exists(top.parent_path() / "escaped"));
}

TEST_F(ArchiveTest, nothing_is_written_through_a_link) {
  fs::create_directory(top / "outside");
  add_entry("out", '2', (top / "outside").string());
  add_entry("out/file", '0', "", "x");
  add_entry("up", '2', "../outside");
  add_entry("up/file", '0', "", "x");
  (void)unpack_entries();
  EXPECT_TRUE(fs::is_empty(top / "outside"));
}

TEST_F(ArchiveTest, no_hard_link_reaches_a_file_outside) {
  std::ofstream(top / "secret") << "secret";
  add_entry("mine", '1', (top / "secret").string());
  EXPECT_FALSE(unpack_entries().ok());
  bytes.clear();
  add_entry("mine", '1', "../secret");
  EXPECT_FALSE(unpack_entries().ok());
  bytes.clear();
  add_entry("way", '2', top.string());
  add_entry("mine", '1', "way/secret");
  EXPECT_FALSE(unpack_entries().ok());
  EXPECT_EQ(fs::hard_link_count(top / "secret"), 1U);
  EXPECT_FALSE(fs::exists(unpacked()));
}

TEST_F(ArchiveTest, devices_and_pipes_are_refused_and_nothing_is_left) {
  add_entry("train.py", '0', "", "x");
  add_entry("pipe", '6');
  const Status refused = unpack_entries();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "setup");
  EXPECT_NE(refused.error().message.find("pipe is neither file, folder nor link"), std::string::npos);
  EXPECT_FALSE(fs::exists(unpacked()));
  EXPECT_FALSE(fs::exists(unpacked() + ".new"));
}

TEST_F(ArchiveTest, set_uid_bits_are_not_taken_over) {
  add_entry("program", '0', "", "x", 06755);
  ASSERT_TRUE(unpack_entries().ok());
  struct stat info {};
  ASSERT_EQ(::stat((unpacked() + "/program").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07000, 0U);
}

TEST_F(ArchiveTest, what_is_no_archive_is_the_archive_s_fault) {
  std::ofstream(tar()) << "no tar at all, and long enough to be read";
  const Status refused = unpack(tar(), unpacked());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "setup");
}

// ---- programs ----

TEST(Program, is_given_its_input_and_its_output_is_read_both_larger_than_a_pipe) {
  const std::string input(300'000, 'x');
  const auto end = run_program({"cat"}, input);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->output, input);
  EXPECT_EQ(end->status, 0);
}

TEST(Program, that_does_not_read_its_input_and_one_that_is_missing) {
  const auto end = run_program({"sh", "-c", "echo no >&2; exit 3"}, std::string(300'000, 'x'));
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->status, 3);
  EXPECT_EQ(end->errors, "no\n");
  EXPECT_EQ(run_program({"schedulearn-no-such-program"}).error().code, "program-missing");
}

}  // namespace
}  // namespace sl::archive
