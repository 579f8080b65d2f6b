#include "courier/libcurl.h"

#include <dlfcn.h>

namespace sl::courier {
namespace {

const LibCurl* load() {
  void* const library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  static LibCurl curl{};
  const auto find = [library](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    return function != nullptr;
  };
  const bool is_whole =
      find("curl_global_init", curl.global_init) && find("curl_free", curl.free) &&
      find("curl_slist_append", curl.slist_append) && find("curl_slist_free_all", curl.slist_free_all) &&
      find("curl_url", curl.url) && find("curl_url_cleanup", curl.url_cleanup) &&
      find("curl_url_get", curl.url_get) && find("curl_url_set", curl.url_set) &&
      find("curl_easy_init", curl.easy_init) && find("curl_easy_cleanup", curl.easy_cleanup) &&
      find("curl_easy_setopt", curl.easy_setopt) && find("curl_easy_getinfo", curl.easy_getinfo) &&
      find("curl_easy_strerror", curl.easy_strerror) && find("curl_multi_init", curl.multi_init) &&
      find("curl_multi_cleanup", curl.multi_cleanup) && find("curl_multi_add_handle", curl.multi_add_handle) &&
      find("curl_multi_remove_handle", curl.multi_remove_handle) && find("curl_multi_perform", curl.multi_perform) &&
      find("curl_multi_poll", curl.multi_poll) && find("curl_multi_info_read", curl.multi_info_read);
  return is_whole && curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? &curl : nullptr;
}

}  // namespace

const LibCurl* libcurl() {
  static const LibCurl* const loaded = load();
  return loaded;
}

Error no_libcurl() {
  return unavailable("no-libcurl", "notifications are sent with libcurl, which cannot be loaded where the controller runs")
      .hint("install it there (Debian: libcurl4) and start the controller again");
}

}  // namespace sl::courier
