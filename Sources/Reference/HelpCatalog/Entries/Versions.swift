extension HelpCatalog {
    /// The functions for versions, backups and recordings.
    static let versions: [HelpEntry] = [
        .method(
            "freeze", of: [store], ["(): FrozenStore"],
            "Returns a frozen store at the current version, without the changes of an open write transaction.",
            errors: [.closed],
            example: """
                local before <close> = store:freeze()
                store:write(function() rex.age = 8 end)
                print(before:object("Dog", 1).age, rex.age)  --> 7 8
                """),
        .method(
            "thaw", of: [store], ["(): Store"],
            "Returns the live store; a live store returns itself.",
            errors: [.closed],
            example: """
                print(store:freeze():thaw() == store)  --> true
                """),
        .method(
            "pins", of: [store], ["(): table[]"],
            "Returns the version pins: script, line, age, and the bytes that each keeps in use.",
            errors: [.closed],
            example: """
                local old <close> = store:freeze()
                store:write(function() rex.age = 8 end)
                print(#store:pins(), store:pins()[1].kind)  --> 1 frozen
                """),
        .method(
            "backup", of: [store], ["(path: string, options?: {overwrite: boolean})"],
            "Writes a compact copy of the latest version. Does not block writers. A damaged store is not copied.",
            errors: [.invalidArgument, .fileCorrupt, .diskFull, .closed],
            example: """
                store:backup("copy.moonpool", { overwrite = true })
                local copy <close> = moonpool.open { path = "copy.moonpool", read_only = true }
                print(#copy:objects "Dog")  --> 2
                """),
        .method(
            "at", of: [store], ["(version: integer): FrozenStore"],
            "Returns a frozen store at an earlier version, if the history still contains it.",
            errors: [.invalidArgument, .closed],
            example: """
                local version = store.version
                store:write(function() rex.age = 8 end)
                print(store:at(version):object("Dog", 1).age)  --> 7
                """),
        .method(
            "versions", of: [store], ["(): table[]"],
            "Returns a description of each version in the history.", errors: [.closed],
            example: """
                print(#store:versions() > 0)  --> true
                """),
        .method(
            "diff", of: [store], ["(first: integer, second: integer): table"],
            "Returns the objects inserted, deleted and modified between two versions, by class.",
            errors: [.invalidArgument, .closed],
            example: """
                local version = store.version
                store:write(function() rex.age = 8 end)
                print(#store:diff(version, store.version).Dog.modified)  --> 1
                """),
        .method(
            "undo", of: [store], ["(): integer"],
            "Reverses the last transaction in a new transaction. Returns the version that was reversed.",
            errors: [.invalidArgument, .alreadyInWrite, .readOnly, .closed],
            example: """
                store:write(function() rex.age = 8 end)
                store:undo()
                print(rex.age)  --> 7
                """),
        .method(
            "redo", of: [store], ["(): integer"],
            "Reapplies the last undone transaction in a new transaction. Returns its version.",
            errors: [.invalidArgument, .alreadyInWrite, .readOnly, .closed],
            example: """
                store:write(function() rex.age = 8 end)
                store:undo()
                store:redo()
                print(rex.age)  --> 8
                """),
        .method(
            "record", of: [store], ["(path: string, options?: RecordOptions): Recording"],
            """
            Records all following commits to a file, as JSON Lines, until it is stopped. Replaces an earlier recording in \
            the file. Raises an error if the file contains anything else.
            """,
            errors: [.invalidArgument, .diskFull, .closed],
            example: """
                local recording = store:record("changes.jsonl")
                store:write(function() rex.age = 8 end)
                recording:stop()
                print(recording.path)  --> changes.jsonl
                """),
        .field(
            "snapshot", of: [recordOptions], "boolean?",
            "Begins with all objects, so that a replay into an empty store creates a copy. Default: false."
        ),
        .field(
            "old_values", of: [recordOptions], "boolean?",
            "Also records the values before a change. Default: true."),
        .method(
            "stop", of: [recording], ["()"], "Stops the recording.",
            example: """
                local recording = store:record("changes.jsonl")
                recording:stop()
                print(recording.is_active)  --> false
                """),
        .field("path", of: [recording], "string", "The path of the file."),
        .field("is_active", of: [recording], "boolean", "Whether commits are still recorded."),
        .field(
            "steps", of: [recording], "integer",
            "The number of recorded commits or groups of commits."),
        .function(
            "replay", of: moonpool, ["(path: string, store: Store): integer, integer"],
            """
            Applies a recording to a store. Returns the number of commits and of object changes. A step that is incomplete or \
            does not apply is rolled back and stops the replay; the error names the file and line.
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
