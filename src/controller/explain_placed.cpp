// What a job that has GPUs waits for.
#include <fmt/format.h>

#include "controller/explain.h"
#include "controller/incarnations.h"
#include "controller/orders.h"

namespace sl::controller {

std::string servers_of(const Core& core, const Allocation& gpus) {
  std::string servers;
  for (const ServerGpus& part : gpus.parts())
    servers += (servers.empty() ? "" : ", ") + core.servers()[part.server].description.name;
  return servers;
}

namespace {

// Where a job that is moving, or changes size, continues.
std::string move_text(const Core& core, const JobEntry& entry, const Job& job) {
  const std::string when = job.gpus_awaited > 0 ? " once they are free" : "";
  const std::string servers = servers_of(core, job.target);
  const int gpus = job.target.count();
  const std::string where = gpus == 0 ? servers : fmt::format("{} of {}", gpus_text(gpus), servers);
  if (resizes_in_place(entry, job)) return fmt::format("it is asked{} to go over to {} by itself", when, where);
  return fmt::format("it stops{} at a checkpoint, then it continues on {}", when, where);
}

// A server that it has does not answer. Empty: all do, or have not called yet since the controller was started.
std::string server_away(const Logic& logic, const Job& job) {
  for (const ServerGpus& part : job.allocation.parts()) {
    const Server& server = logic.core().servers()[part.server];
    const std::string& name = server.description.name;
    if (server.state != ServerState::down || logic.recorder().awaits(name)) continue;
    const Agent* agent = logic.agents().by_server(name);
    const std::string what = job.state == JobState::starting ? "it was sent to " + name + ", which does not answer"
                                                             : "server " + name + " is down; its state is not known";
    const bool is_long_gone = agent && agent->lease_over;
    return what + (is_long_gone ? "; if that is gone for good: schedulearn servers lost " + name : "");
  }
  return "";
}

// Why a job is being stopped, and for how long it may take.
std::string stopping_text(const Logic& logic, const JobEntry& entry, const Job& job) {
  if (entry.stopping == StopReason::none)  // it is being frozen
    return job.cancel_requested ? "it was cancelled" : job.on_hold ? "its user suspends it" : "it is being suspended";
  const char* const why = job.cancel_requested                       ? "it was cancelled"
                          : entry.stopping == StopReason::time_limit ? "it has reached its time limit"
                          : entry.stopping == StopReason::target_met ? "it has the loss that it was to reach"
                          : job.on_hold                              ? "its user suspends it"
                          : logic.is_stopping()                      ? "schedulearn is being stopped"
                                                                     : "it goes back to the queue";
  if (!latest_placement(entry)) return why;
  const StopReason reason = job.cancel_requested ? StopReason::cancelled : entry.stopping;
  const double grace_s = stop_order_for(entry, reason).grace_s;
  if (grace_s <= 0) return fmt::format("{}; its processes are killed", why);
  return fmt::format("{}; it is killed if it has not ended {:g} s after that", why, grace_s);
}

}  // namespace

std::optional<answers::Reason> awaited_by(const Logic& logic, const JobEntry& entry, const Job& job) {
  if (const std::string away = server_away(logic, job); !away.empty()) return answers::Reason{"server_down", away};
  if (const std::string pull = logic.images().text_of(entry); !pull.empty()) return answers::Reason{"image_pull", pull};
  if (const Checkpoints::Transfer* transfer = logic.checkpoints().find(entry))
    return answers::Reason{"checkpoint", logic.checkpoints().text_of(*transfer)};
  const bool is_broken = entry.gang && entry.gang->is_broken();
  if (job.state == JobState::stopping && !is_broken)
    return answers::Reason{"stopping", stopping_text(logic, entry, job)};
  if (is_moving(job.state)) return answers::Reason{to_string(job.state), move_text(logic.core(), entry, job)};
  return std::nullopt;
}

}  // namespace sl::controller
