/* The packed files of the web page, read-only in the program. SL_PAGE_PACK is given by CMakeLists.txt. */
    .section .rodata
    .global sl_page_pack
    .global sl_page_pack_end
    .balign 16
sl_page_pack:
    .incbin SL_PAGE_PACK
sl_page_pack_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
