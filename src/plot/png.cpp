#include "plot/png.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

extern char** environ;

namespace sl::plot {
namespace {

std::string find_on_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  const std::string_view folders = path ? path : "";
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t colon = std::min(folders.find(':', at), folders.size());
    const std::string file = std::string(folders.substr(at, colon - at)) + "/" + std::string(program);
    if (::access(file.c_str(), X_OK) == 0) return file;
    at = colon + 1;
  }
  return "";
}

std::vector<std::string> arguments_for(const std::string& converter, const std::string& path) {
  const std::string dots = std::to_string(png_dots_per_inch);
  if (converter.ends_with("inkscape"))
    return {converter, "--pipe", "--export-type=png", "--export-dpi=" + dots, "--export-filename=" + path};
  return {converter, "--format=png", "--dpi-x=" + dots, "--dpi-y=" + dots, "--output=" + path};
}

// The converter's exit status, or -1 if it did not start. A file replaces the pipe, so that neither side waits for the
// other.
int run_on(std::FILE* input, std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(input), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, pointers.front(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

Result<std::string> find_png_converter() {
  for (const std::string_view program : {"rsvg-convert", "inkscape"}) {
    if (std::string found = find_on_path(program); !found.empty()) return found;
  }
  return unavailable("no-png-converter", "PNG needs rsvg-convert or inkscape, and neither is on PATH")
      .hint("apt-get install librsvg2-bin")
      .hint("or write SVG: --out NAME.svg");
}

Status write_png(const std::string& converter, const std::string& svg, const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> input(std::tmpfile(), &std::fclose);
  const bool is_ready = input && std::fwrite(svg.data(), 1, svg.size(), input.get()) == svg.size() &&
                        std::fflush(input.get()) == 0 && std::fseek(input.get(), 0, SEEK_SET) == 0;
  if (!is_ready) return unavailable("png-failed", "no room for a temporary file");
  std::error_code ignored;
  if (run_on(input.get(), arguments_for(converter, path)) == 0 && std::filesystem::exists(path, ignored)) return {};
  return unavailable("png-failed", converter + " could not make " + path);
}

}  // namespace sl::plot
