#include "controller/doctor.h"

#include <fmt/format.h>

#include "controller/views.h"

namespace sl::controller {
namespace {

using answers::Finding;
using Findings = std::vector<Finding>;

void look_at_gpus(const answers::Server& server, Findings& found) {
  for (const answers::Gpu& gpu : server.gpus) {
    const std::string subject = "GPU " + gpu.identifier;
    if (gpu.condition == "outside") {
      const std::string who = gpu.processes.empty() ? "a process" : "a process of " + gpu.processes.front().user;
      found.push_back({"note", subject, fmt::format("is used by {} that was not started here", who), "schedulearn gpus",
                       server.name});
    } else if (gpu.condition == "unavailable") {
      found.push_back({"note", subject, "is gone from its server", "schedulearn gpus", server.name});
    }
  }
}

// Where the files of jobs are kept.
void look_at_disk(const answers::Server& server, Findings& found) {
  constexpr std::int64_t little = 1LL << 30;
  if (!server.disk_free_bytes || *server.disk_free_bytes >= little) return;
  found.push_back({"wrong", "disk of " + server.name,
                   fmt::format("has {:.1f} GB free", static_cast<double>(*server.disk_free_bytes) * 1e-9), "make room",
                   server.name});
}

void look_at_abilities(const answers::Server& server, Findings& found) {
  if (!server.container_engine)
    found.push_back({"note", "containers on " + server.name,
                     "no engine answers its agent, so jobs with an image do not run there",
                     "apt-get install podman, then: systemctl enable --now podman.socket", server.name});
  if (server.cannot_enforce)
    found.push_back(
        {"note", "limits on " + server.name, "are not enforced: " + *server.cannot_enforce, std::nullopt, server.name});
}

// What somebody wants so is no fault: a server that is drained, perhaps switched off since, or an `up` that is being
// stopped.
Finding finding_of(const answers::Server& server, bool is_drained) {
  const std::string subject = "server " + server.name, reason = server.state_reason.value_or("no reason is given");
  if (is_drained)
    return {"note", subject, "is " + reason, "to use it again: schedulearn servers undrain " + server.name,
            server.name};
  const std::string text = fmt::format("is {}: {}", server.state, reason);
  if (server.state == "draining") return {"note", subject, text, std::nullopt, server.name};
  const std::string remedy = server.state == "quarantined"
                                 ? "schedulearn servers release " + server.name
                                 : "start its agent, or: schedulearn servers lost " + server.name;
  return {"wrong", subject, text, remedy, server.name};
}

void look_at_server(const answers::Server& server, bool is_drained, const std::string& version, Findings& found) {
  if (is_drained || server.state != "up") return found.push_back(finding_of(server, is_drained));
  const std::string subject = "server " + server.name;
  const auto gpus = server.gpus.size();
  if (server.agent_version != version)
    found.push_back({"note", subject,
                     fmt::format("is up with version {} of the agent", server.agent_version.value_or("?")),
                     "install " + version, server.name});
  else
    found.push_back(
        {"ok", subject, fmt::format("is up with {} GPU{}", gpus, gpus == 1 ? "" : "s"), std::nullopt, server.name});
  look_at_disk(server, found);
  look_at_abilities(server, found);
  look_at_gpus(server, found);
}

void look_at_controller(const Logic& logic, Findings& found) {
  found.push_back({"ok", "controller", "is version " + logic.settings().version, {}, {}});
  if (logic.recorder().is_refusing())
    found.push_back(
        {"wrong", "submissions", logic.recorder().failure().message, "make room on the controller's disk", {}});
  else
    found.push_back({"ok", "submissions", "are accepted", {}, {}});
  if (const auto& failure = logic.policies().failure())
    found.push_back(
        {"wrong",
         "policy",
         fmt::format("{} failed and {} took over: {}", failure->name, logic.policies().in_force().name, failure->text),
         "mend it, then: schedulearn policy set NAME",
         {}});
}

}  // namespace

std::vector<Finding> findings(const Logic& logic, const std::string& url, Instant now) {
  Findings found;
  look_at_controller(logic, found);
  bool has_server = false;
  for_each_server(logic.core(), [&](const Server& server, ServerIndex index) {
    has_server = true;
    const bool is_drained = logic.drains().find(server.description.name) != nullptr;
    look_at_server(server_view(logic, server, index, now), is_drained, logic.settings().version, found);
  });
  if (!has_server)
    found.push_back({"wrong",
                     "servers",
                     "none has joined",
                     "start an agent on each: schedulearn agent run --data DIR --join " + url,
                     {}});
  return found;
}

}  // namespace sl::controller
