// Python sources inside this binary.
#pragma once

namespace sl::python_policy {

extern const char* const policy_host_text;  // python/schedulearn/policy_host.py
extern const char* const policy_text;       // python/schedulearn/policy.py

}  // namespace sl::python_policy
