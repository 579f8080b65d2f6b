// The JSON Schemas of what users send about jobs, from the code that reads it (keys.h).
#pragma once

#include <boost/json/object.hpp>
#include <string>

namespace sl::wire {

boost::json::object job_schema();  // POST /jobs
boost::json::object job_change_schema();
boost::json::object intervention_schema(const std::string& verb);  // as in intervention.h
boost::json::object cancellation_schema();
boost::json::object signal_schema();
boost::json::object problem_schema();  // an error (error.h)

}  // namespace sl::wire
