// Puts each file of `lua` into the read-only data, followed by a zero byte, and lists all of them. (Data in Swift source
// would take the compiler 0.1 s for each KiB.)
//
// __has_include makes a file an input of the build, which .incbin alone does not: list each file in both places.
#if !__has_include("strings.lua")
#error "a file is missing"
#endif

    .macro FILE name
    .section .rodata, "a", %progbits
1:  .asciz "\name"
2:  .incbin "\name"
    .byte 0
    .section .data.rel.ro, "aw", %progbits
    .quad 1b, 2b
    .endm

    .section .data.rel.ro, "aw", %progbits
    .balign 8
    .global lua_files
lua_files:
    FILE "strings.lua"
    .quad 0, 0
    .section .note.GNU-stack, "", %progbits
