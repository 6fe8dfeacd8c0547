extension Catalogue {
    /// Versions that are kept, and the file as a whole.
    static let versions: [CatalogueEntry] = [
        .method(
            "freeze", of: [store], ["(): FrozenStore"],
            "Gives the store as it is now, for ever; in a write transaction as it was before that.",
            errors: [.closed],
            example: """
                local before <close> = store:freeze()
                store:write(function() rex.age = 8 end)
                print(before:object("Dog", 1).age, rex.age)  --> 7 8
                """),
        .method(
            "thaw", of: [store], ["(): Store"], "Gives the live store; a live one gives itself.",
            errors: [.closed],
            example: """
                print(store:freeze():thaw() == store)  --> true
                """),
        .method(
            "pins", of: [store], ["(): table[]"],
            "Tells who holds which old version: script, line, since when, bytes it keeps.",
            errors: [.closed],
            example: """
                local old <close> = store:freeze()
                store:write(function() rex.age = 8 end)
                print(#store:pins(), store:pins()[1].kind)  --> 1 frozen
                """),
        .method(
            "backup", of: [store], ["(path: string, options?: {overwrite: boolean})"],
            "Writes a compact copy of the newest version, also while others write.",
            errors: [.invalidArgument, .diskFull, .closed],
            example: """
                store:backup("copy.moonpool", { overwrite = true })
                local copy <close> = moonpool.open { path = "copy.moonpool", read_only = true }
                print(#copy:objects "Dog")  --> 2
                """),
        .method(
            "at", of: [store], ["(version: integer): FrozenStore"],
            "Gives the store as it was at an earlier version, as long as its history is kept.",
            errors: [.invalidArgument, .closed],
            example: """
                local version = store.version
                store:write(function() rex.age = 8 end)
                print(store:at(version):object("Dog", 1).age)  --> 7
                """),
        .method(
            "versions", of: [store], ["(): table[]"],
            "Tells what the history says about each version that it knows.", errors: [.closed],
            example: """
                print(#store:versions() > 0)  --> true
                """),
        .method(
            "diff", of: [store], ["(first: integer, second: integer): table"],
            "Tells what lies between two versions: objects inserted, deleted and modified, by class.",
            errors: [.invalidArgument, .closed],
            example: """
                local version = store.version
                store:write(function() rex.age = 8 end)
                print(#store:diff(version, store.version).Dog.modified)  --> 1
                """),
        .method(
            "undo", of: [store], ["(): integer"],
            "Reverses the last transaction as a new one, and says which it was.",
            errors: [.invalidArgument, .alreadyInWrite, .readOnly, .closed],
            example: """
                store:write(function() rex.age = 8 end)
                store:undo()
                print(rex.age)  --> 7
                """),
        .method(
            "redo", of: [store], ["(): integer"],
            "Does again what the last undo has undone, as a new transaction.",
            errors: [.invalidArgument, .alreadyInWrite, .readOnly, .closed],
            example: """
                store:write(function() rex.age = 8 end)
                store:undo()
                store:redo()
                print(rex.age)  --> 8
                """),
        .method(
            "record", of: [store], ["(path: string): Recording"],
            """
            Writes everything that happens from now on to a file, as JSON Lines, until it is stopped. An earlier recording in \
            the file is lost; a file that holds anything else is refused.
            """,
            errors: [.invalidArgument, .diskFull, .closed],
            example: """
                local recording = store:record("changes.jsonl")
                store:write(function() rex.age = 8 end)
                recording:stop()
                print(recording.path)  --> changes.jsonl
                """),
        .method(
            "stop", of: [recording], ["()"], "Ends the recording.",
            example: """
                local recording = store:record("changes.jsonl")
                recording:stop()
                print(recording.is_active)  --> false
                """),
        .field("path", of: [recording], "string", "The file."),
        .field("is_active", of: [recording], "boolean", "Whether what happens is still written."),
        .field(
            "steps", of: [recording], "integer",
            "How many commits, or groups of them, were written."),
        .function(
            "replay", of: moonpool, ["(path: string, store: Store): integer, integer"],
            """
            Does in a store what a recording tells; how many commits, and how many changes of objects. A step that does not \
            fit, or is not whole, ends it and is rolled back; the error names file and line.
            """,
            errors: [.invalidArgument, .readOnly, .closed],
            example: """
                local recording = store:record("changes.jsonl")
                store:write(function() rex.age = 8 end)
                recording:stop()
                store:undo()
                moonpool.replay("changes.jsonl", store)
                print(rex.age)  --> 8
                """),
    ]
}
