// Puts each file of `lua` into the read-only data, followed by a zero byte, and lists all of them. (Data in Swift source
// would take the compiler 0.1 s for each KiB.)
//
// __has_include makes a file an input of the build, which .incbin alone does not: list each file in both places.
#if !__has_include("example.lua") || \
    !__has_include("library.lua") || \
    !__has_include("observing.lua") || \
    !__has_include("api/moonpool.lua") || \
    !__has_include("api/text.lua") || \
    !__has_include("api/migrate.lua") || \
    !__has_include("api/opening.lua") || \
    !__has_include("api/store.lua") || \
    !__has_include("api/objects.lua") || \
    !__has_include("api/collections.lua") || \
    !__has_include("api/projections.lua") || \
    !__has_include("api/mixed.lua") || \
    !__has_include("api/observing.lua") || \
    !__has_include("api/threads.lua") || \
    !__has_include("api/replication.lua") || \
    !__has_include("api/values.lua") || \
    !__has_include("api/migration.lua") || \
    !__has_include("api/transfer.lua") || \
    !__has_include("api/prompt.lua") || \
    !__has_include("api/extending.lua") || \
    !__has_include("api/studio.lua") || \
    !__has_include("api/errors.lua") || \
    !__has_include("migrate/api.lua") || \
    !__has_include("migrate/back.lua") || \
    !__has_include("migrate/check.lua") || \
    !__has_include("migrate/commands.lua") || \
    !__has_include("migrate/conversion.lua") || \
    !__has_include("migrate/edits.lua") || \
    !__has_include("migrate/findings.lua") || \
    !__has_include("migrate/fleet.lua") || \
    !__has_include("migrate/folder.lua") || \
    !__has_include("migrate/history.lua") || \
    !__has_include("migrate/merge.lua") || \
    !__has_include("migrate/plan.lua") || \
    !__has_include("migrate/repair.lua") || \
    !__has_include("migrate/reports.lua") || \
    !__has_include("migrate/run.lua") || \
    !__has_include("migrate/script.lua") || \
    !__has_include("migrate/session.lua") || \
    !__has_include("migrate/squash.lua") || \
    !__has_include("migrate/started.lua") || \
    !__has_include("migrate/test.lua") || \
    !__has_include("migrate/text.lua") || \
    !__has_include("migrate/up.lua") || \
    !__has_include("prompt/commands.lua") || \
    !__has_include("prompt/history.lua") || \
    !__has_include("prompt/completion.lua") || \
    !__has_include("prompt/errors.lua") || \
    !__has_include("prompt/frames.lua") || \
    !__has_include("prompt/help.lua") || \
    !__has_include("prompt/live.lua") || \
    !__has_include("prompt/save.lua") || \
    !__has_include("prompt/session.lua") || \
    !__has_include("prompt/looking.lua") || \
    !__has_include("prompt/observing.lua") || \
    !__has_include("prompt/reload.lua") || \
    !__has_include("prompt/schema.lua") || \
    !__has_include("prompt/text.lua") || \
    !__has_include("prompt/transactions.lua") || \
    !__has_include("prompt/tutorial.lua") || \
    !__has_include("studio/code.lua") || \
    !__has_include("studio/console.lua") || \
    !__has_include("studio/fields.lua") || \
    !__has_include("studio/history.lua") || \
    !__has_include("studio/jobs.lua") || \
    !__has_include("studio/main.lua") || \
    !__has_include("studio/migrations.lua") || \
    !__has_include("studio/objects.lua") || \
    !__has_include("studio/observers.lua") || \
    !__has_include("studio/panels.lua") || \
    !__has_include("studio/registry.lua") || \
    !__has_include("studio/rows.lua") || \
    !__has_include("studio/schema.lua") || \
    !__has_include("studio/transfer.lua") || \
    !__has_include("studio/values.lua") || \
    !__has_include("studio/workers.lua") || \
    !__has_include("studio/writing.lua")
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
    FILE "example.lua"
    FILE "library.lua"
    FILE "observing.lua"
    FILE "api/moonpool.lua"
    FILE "api/text.lua"
    FILE "api/migrate.lua"
    FILE "api/opening.lua"
    FILE "api/store.lua"
    FILE "api/objects.lua"
    FILE "api/collections.lua"
    FILE "api/projections.lua"
    FILE "api/mixed.lua"
    FILE "api/observing.lua"
    FILE "api/threads.lua"
    FILE "api/replication.lua"
    FILE "api/values.lua"
    FILE "api/migration.lua"
    FILE "api/transfer.lua"
    FILE "api/prompt.lua"
    FILE "api/extending.lua"
    FILE "api/studio.lua"
    FILE "api/errors.lua"
    FILE "migrate/api.lua"
    FILE "migrate/back.lua"
    FILE "migrate/check.lua"
    FILE "migrate/commands.lua"
    FILE "migrate/conversion.lua"
    FILE "migrate/edits.lua"
    FILE "migrate/findings.lua"
    FILE "migrate/fleet.lua"
    FILE "migrate/folder.lua"
    FILE "migrate/history.lua"
    FILE "migrate/merge.lua"
    FILE "migrate/plan.lua"
    FILE "migrate/repair.lua"
    FILE "migrate/reports.lua"
    FILE "migrate/run.lua"
    FILE "migrate/script.lua"
    FILE "migrate/session.lua"
    FILE "migrate/squash.lua"
    FILE "migrate/started.lua"
    FILE "migrate/test.lua"
    FILE "migrate/text.lua"
    FILE "migrate/up.lua"
    FILE "prompt/commands.lua"
    FILE "prompt/history.lua"
    FILE "prompt/completion.lua"
    FILE "prompt/errors.lua"
    FILE "prompt/frames.lua"
    FILE "prompt/help.lua"
    FILE "prompt/live.lua"
    FILE "prompt/save.lua"
    FILE "prompt/session.lua"
    FILE "prompt/looking.lua"
    FILE "prompt/observing.lua"
    FILE "prompt/reload.lua"
    FILE "prompt/schema.lua"
    FILE "prompt/text.lua"
    FILE "prompt/transactions.lua"
    FILE "prompt/tutorial.lua"
    FILE "studio/code.lua"
    FILE "studio/console.lua"
    FILE "studio/fields.lua"
    FILE "studio/history.lua"
    FILE "studio/jobs.lua"
    FILE "studio/main.lua"
    FILE "studio/migrations.lua"
    FILE "studio/objects.lua"
    FILE "studio/observers.lua"
    FILE "studio/panels.lua"
    FILE "studio/registry.lua"
    FILE "studio/rows.lua"
    FILE "studio/schema.lua"
    FILE "studio/transfer.lua"
    FILE "studio/values.lua"
    FILE "studio/workers.lua"
    FILE "studio/writing.lua"
    .quad 0, 0
    .section .note.GNU-stack, "", %progbits
