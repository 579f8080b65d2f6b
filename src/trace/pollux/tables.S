/* The measurements of Pollux's artifact, compressed as they are in the repository (README.md). The assembler looks for them beside this file. */
    .macro table name, file
    .global \name, \name\()_end
    .balign 16
\name:
    .incbin "\file"
\name\()_end:
    .byte 0
    .endm

    .section .rodata
    table sl_pollux_placements, "placements.csv.gz"
    table sl_pollux_scalability, "scalability.csv.gz"
    table sl_pollux_validation, "validation.csv.gz"
    .section .note.GNU-stack,"",%progbits
