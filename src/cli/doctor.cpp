#include "cli/doctor.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/render.h"
#include "wire/error.h"

namespace sl::cli {
namespace {

namespace fs = std::filesystem;

bool is_on_path(const std::string& program) {
  const char* path = ::getenv("PATH");
  std::string_view folders = path ? path : "";
  while (!folders.empty()) {
    const std::string folder(folders.substr(0, folders.find(':')));
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
    folders.remove_prefix(std::min(folders.size(), folder.size() + 1));
  }
  return false;
}

// A note is nothing that must be mended.
std::string sign_of(const Context& context, const std::string& verdict) {
  if (verdict == "ok") return context.unicode ? "✓" : "+";
  return verdict == "note" ? "-" : context.unicode ? "✗" : "x";
}

}  // namespace

void Doctor::add_to(CLI::App& app) {
  command_(app, "doctor", "Say what is right and wrong with this installation, and what to do.",
           "  schedulearn doctor\n  schedulearn doctor --json=subject,verdict\n", [this] { return examine(); });
}

void Doctor::add(const char* verdict, std::string subject, std::string text, std::string remedy) {
  findings_.push_back({verdict, std::move(subject), std::move(text), std::move(remedy)});
}

void Doctor::look_at_controller(const Context& context) {
  const auto cluster = context.get("/api/v1/cluster");
  if (!cluster.ok()) {
    const auto hints = wire::hints_of(cluster.error());
    return add("wrong", "controller", cluster.error().message, hints.empty() ? "" : hints.front());
  }
  const std::string theirs = text_at(*cluster, "version");
  add("ok", "controller", fmt::format("answers at {}", context.socket.empty() ? context.url : context.socket));
  if (theirs != version_)
    add("wrong", "version", fmt::format("the controller is version {}, this program {}", theirs, version_),
        "install the same version of both");
  else
    add("ok", "version", "this program and the controller are version " + theirs);
  if (const auto self = context.get("/api/v1/whoami"); self.ok())
    add("ok", "you", fmt::format("are {} ({}) to it", text_at(*self, "user"), text_at(*self, "role")));
  const auto found = context.get("/api/v1/doctor");
  if (!found.ok()) return add("wrong", "servers", found.error().message);
  for (const json::value& told : value_at(*found, "items").as_array()) {
    const json::value finding = visible_document(told);
    if (text_at(finding, "subject") != "controller")  // that it answers is said
      findings_.push_back({text_at(finding, "verdict"), text_at(finding, "subject"), text_at(finding, "text"),
                           text_at(finding, "remedy")});
  }
}

void Doctor::look_at_this_machine(const Context& context) {
  if (!context.recorded.empty()) {
    struct stat facts {};
    if (::stat(context.recorded.c_str(), &facts) == 0 && (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      add("wrong", "data folder", "others may write to " + context.recorded, "chmod go-w " + context.recorded);
    std::error_code unknown;
    const auto space = fs::space(context.recorded, unknown);
    constexpr std::uintmax_t little = 1ULL << 30U;
    if (!unknown && space.available < little)
      add("wrong", "disk",
          fmt::format("{:.1f} GB are free for {}", static_cast<double>(space.available) * 1e-9, context.recorded),
          "make room");
    else if (!unknown)
      add("ok", "disk",
          fmt::format("{:.0f} GB are free for {}", static_cast<double>(space.available) * 1e-9, context.recorded));
  }
  const auto program = [&](const char* name, const char* use) {
    is_on_path(name) ? add("ok", name, std::string("is here: ") + use)
                     : add("note", name, std::string("is not here: ") + use, std::string("apt-get install ") + name);
  };
  program("python3", "for policies of your own and most trainings");
  if (is_on_path("podman") || is_on_path("docker"))
    add("ok", "containers",
        std::string(is_on_path("podman") ? "podman" : "docker") +
            " is installed; whether an agent has found its socket, it says for its server");
  else
    add("note", "containers", "there is no engine on this machine, so that jobs with an image do not run here",
        "apt-get install podman");
  is_on_path("nvidia-smi")
      ? add("ok", "GPUs", "NVIDIA's driver is here")
      : add("note", "GPUs", "there is no NVIDIA driver on this machine", "schedulearn up --simulate 4");
}

int Doctor::examine() {
  const Context context = context_();
  look_at_controller(context);
  look_at_this_machine(context);
  const auto wrong = std::ranges::count(findings_, "wrong", &Finding::verdict);
  if (context.is_for_programs()) {
    json::array items;
    for (const Finding& each : findings_)
      items.push_back(json::object{{"verdict", each.verdict},
                                   {"subject", each.subject},
                                   {"text", each.text},
                                   {"remedy", each.remedy.empty() ? json::value() : json::value(each.remedy)}});
    context.print_for_programs(list_of(std::move(items)));
    return wrong > 0 ? 1 : 0;
  }
  std::size_t width = 0;
  for (const Finding& each : findings_) width = std::max(width, display_width(each.subject));
  for (const Finding& each : findings_) {
    const std::string space(width - display_width(each.subject) + 2, ' ');
    std::printf("%s %s%s%s\n", sign_of(context, each.verdict).c_str(), each.subject.c_str(), space.c_str(),
                each.text.c_str());
    if (!each.remedy.empty()) std::printf("%*s%s\n", static_cast<int>(width + 4), "", each.remedy.c_str());
  }
  std::printf("\n%s\n", wrong == 0 ? "Nothing is wrong."
                                   : (plural(static_cast<std::size_t>(wrong), "thing") + " to mend.").c_str());
  return wrong > 0 ? 1 : 0;
}

}  // namespace sl::cli
