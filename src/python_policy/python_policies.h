// The three kinds of Python policies. They share the Conversation; this file decides how an answer becomes a plan, with
// our placer.
//
//   order, not preemptive: jobs start in the answer's order as they fit; a `blocking` policy ends at the first that
//     does not
//   order, preemptive: the answer's order is the rank of policy/preemptive_policy.h
//   decide: its actions, in the order release, start, grow
#pragma once

#include <memory>

#include "python_policy/conversation.h"

namespace sl::python_policy {

struct Kind {
  bool decides = false;
  bool blocking = false;
  bool preemptive = false;
  Duration min_run = Duration::whole_seconds(60);
};

std::unique_ptr<Policy> make_python_policy(const Kind& kind, Conversation conversation);

}  // namespace sl::python_policy
