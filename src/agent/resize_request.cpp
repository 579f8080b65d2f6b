#include "agent/resize_request.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "agent/environment.h"
#include "agent/files.h"
#include "agent/whole_file.h"
#include "wire/json.h"

namespace sl::agent {
namespace {

struct ResizeRequest {
  int gpus = 0;
  std::string visible_devices;  // as CUDA_VISIBLE_DEVICES has them
};
BOOST_DESCRIBE_STRUCT(ResizeRequest, (), (gpus, visible_devices))

std::string request_path(const std::string& attempt_dir) { return attempt_dir + "/resize"; }
std::string gpus_path(const std::string& attempt_dir) { return attempt_dir + "/gpus"; }
std::string answer_path(const std::string& attempt_dir) { return attempt_dir + "/resize.done"; }

std::string text_of(const wire::Placement& placement) {
  const auto gpus = static_cast<int>(placement.gpus.size());
  return wire::write_json(ResizeRequest{gpus, visible_devices(placement)}) + "\n";
}

// Whoever reads it sees all of it or none.
Status write_at_once(const std::string& path, const std::string& text) {
  if (replace_file(path, text)) return {};
  return unavailable("server_setup", "cannot write " + path + ": " + std::strerror(errno));
}

}  // namespace

Status write_gpus(const std::string& attempt_dir, const ResizedGpus& gpus) {
  const auto before = read_gpus(attempt_dir);
  const bool is_new = !gpus.asked.empty() && (!before || before->asked != gpus.asked);
  if (is_new) ::unlink(answer_path(attempt_dir).c_str());  // to an earlier request
  return write_at_once(gpus_path(attempt_dir), join_gpus(gpus.held) + "\n" + join_gpus(gpus.asked) + "\n");
}

std::optional<ResizedGpus> read_gpus(const std::string& attempt_dir) {
  std::istringstream lines(read_text(gpus_path(attempt_dir)));
  std::string held, asked;
  if (!std::getline(lines, held) || !std::getline(lines, asked)) return std::nullopt;
  return ResizedGpus{split_gpus(held), split_gpus(asked)};
}

Status write_resize_request(const std::string& attempt_dir, const wire::Placement& placement) {
  return is_resize_done(attempt_dir) ? Status() : write_at_once(request_path(attempt_dir), text_of(placement));
}

bool is_resize_done(const std::string& attempt_dir) { return ::access(answer_path(attempt_dir).c_str(), F_OK) == 0; }

}  // namespace sl::agent
