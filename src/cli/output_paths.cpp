#include "cli/output_paths.h"

#include <filesystem>

namespace sl::cli {
namespace {

namespace fs = std::filesystem;

// However it is named: ./p.csv, a link to it.
bool are_one_file(const std::string& a, const std::string& b) {
  std::error_code failed;
  return fs::equivalent(a, b, failed) && fs::is_regular_file(a, failed);
}

bool will_be_one_file(const std::string& a, const std::string& b) {
  std::error_code failed;
  if (fs::exists(a, failed) || fs::exists(b, failed)) return are_one_file(a, b);
  const fs::path first = fs::weakly_canonical(a, failed);
  return !failed && first == fs::weakly_canonical(b, failed);
}

}  // namespace

Status check_outputs(const std::vector<OutputPath>& outputs, const std::vector<std::string>& inputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->path.empty()) continue;
    std::error_code failed;
    if (fs::is_directory(output->path, failed))
      return invalid("not-a-file", output->flag + " " + output->path + " is a directory").hint("name a file in it");
    for (const std::string& input : inputs) {
      if (are_one_file(output->path, input))
        return invalid("bad-flag", output->flag + " " + output->path + " would overwrite " + input + ", which is read")
            .hint("name another file");
    }
    for (auto other = outputs.begin(); other != output; ++other) {
      if (!other->path.empty() && will_be_one_file(output->path, other->path))
        return invalid("bad-flag", other->flag + " and " + output->flag + " name one file: " + output->path)
            .hint("name a file for each");
    }
  }
  return {};
}

Status check_result_folder(const std::string& folder, const std::vector<std::string>& inputs) {
  if (folder.empty()) return {};
  std::error_code failed;
  for (const std::string& input : inputs) {
    const fs::path file = fs::canonical(input, failed);
    if (failed || !fs::is_regular_file(file, failed) || !fs::equivalent(file.parent_path(), folder, failed)) continue;
    const std::string name = file.filename();
    if (name == "run.json" || name.ends_with(".jobs.csv") || name.ends_with(".events.csv"))
      return invalid("bad-flag", "--out " + folder + " would replace " + input + ", which is read")
          .hint("name another folder");
  }
  return {};
}

}  // namespace sl::cli
