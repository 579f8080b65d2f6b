// Huge pages for simulations, which make very many objects. The kernel provides a page of 4 KiB when it is first written
// to, which takes longer than filling it, and finding the page of an object again is slow if there are many.
#pragma once

namespace sl::study {

// From now on what the calling thread allocates lies in huge pages, where the system offers them, until it holds 48 MiB,
// and the program keeps what is freed: for programs that compute and end, not for daemons. Larger tables are
// LargeVectors. This is only advice: where it cannot be followed, nothing changes.
void put_heap_in_huge_pages();

}  // namespace sl::study
