// libcurl, loaded when the first message or address needs it and not before: it brings thirty libraries for protocols that
// nothing here speaks, which every start of the program would pay for with milliseconds and each daemon with megabytes, and
// most clusters send no notification.
#pragma once

#include <curl/curl.h>

#include "base/result.h"

namespace sl::courier {

// Its functions that are used here, by their names without `curl_`.
struct LibCurl {
  decltype(&::curl_global_init) global_init;
  decltype(&::curl_free) free;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_url) url;
  decltype(&::curl_url_cleanup) url_cleanup;
  decltype(&::curl_url_get) url_get;
  decltype(&::curl_url_set) url_set;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_multi_init) multi_init;
  decltype(&::curl_multi_cleanup) multi_cleanup;
  decltype(&::curl_multi_add_handle) multi_add_handle;
  decltype(&::curl_multi_remove_handle) multi_remove_handle;
  decltype(&::curl_multi_perform) multi_perform;
  decltype(&::curl_multi_poll) multi_poll;
  decltype(&::curl_multi_info_read) multi_info_read;
};

// Ready for use; any thread may call it. Null: it is not installed, which no_libcurl() says.
const LibCurl* libcurl();
Error no_libcurl();

}  // namespace sl::courier
