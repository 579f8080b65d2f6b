// What `schedulearn` and `schedulearn help` print: every command at a glance.
#pragma once

namespace sl::cli {

inline constexpr const char* usage = R"(Schedulearn schedules deep-learning jobs on GPU servers.

  schedulearn up                                 start everything on this machine
  schedulearn submit --gpus 1 -- python train.py submit a training
  schedulearn ls                                 see what runs and what waits

Jobs      submit run ls show logs files shell why wait set cancel signal rm suspend resume migrate scale retry
Cluster   status top gpus events web announce  secret (set ls rm)  notify (add ls test log rm)
          servers (ls show add drain undrain lost release rm)  profile (run ls show costs import rm)
          policy (ls show set try shadow check history undo)
Research  sim (run compare ls show rm)  estimates (losses run-times ranges speeds)  reproduce
          plot (cdf gantt util queue lines bars regret ahead arrivals speedup)
          trace (info import export gen ls upload rm)
People    login logout whoami  token (ls add rm)  user (ls add set rm)
System    up  controller (run replay)  agent (join run leave)  db (backup check restore)  config (show path get set edit)
          init demo doctor completion man version help

schedulearn COMMAND --help shows examples and every option.

Environment  SCHEDULEARN_URL (address of the controller)  SCHEDULEARN_CONTEXT (one that you have signed in to)
             SCHEDULEARN_TOKEN_FILE, SCHEDULEARN_TOKEN (who you are)
             SCHEDULEARN_DATA (data directory of up)  NO_COLOR, CLICOLOR_FORCE (colours)
)";

}  // namespace sl::cli
