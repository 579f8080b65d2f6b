// Words as a POSIX shell reads them.
#pragma once

#include <string>

namespace sl {

// The word in single quotes: for a shell that is to read it as nothing else, neither a keyword nor an assignment.
std::string shell_quoted(const std::string& word);
// The same, in quotes only if it needs them: for people, and for an argument behind the name of a program.
std::string shell_word(const std::string& word);

}  // namespace sl
