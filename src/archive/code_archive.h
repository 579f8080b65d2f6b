// Packs and unpacks code with the system's tar.
#pragma once

#include <string>

#include "archive/code_folder.h"
#include "base/result.h"

namespace sl::archive {

// Writes the code as a tar archive. The same files give the same bytes: nothing of the user, the machine or the time of
// packing is in it. Errors: "snapshot-failed", with tar's words.
Status pack(const CodeFolder& code, const std::string& file);

// Unpacks an archive that anybody may have made into `folder`, which must not be there yet and is there afterwards only
// if all went well. Nothing outside of it is read, written or linked to while unpacking; an archive with anything but
// files, folders and symbolic links is refused, and owners, set-uid bits and the like are ignored. Errors: "setup" if
// the archive is at fault, "server_setup" if this machine is.
Status unpack(const std::string& file, const std::string& folder);

}  // namespace sl::archive
