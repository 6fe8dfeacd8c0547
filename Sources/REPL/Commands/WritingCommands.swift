extension MetaCommand {
    static let writing: [MetaCommand] = [
        MetaCommand(
            "begin", "", "Opens a write transaction; it stays open until .commit or .rollback."
        ) { session, _ in try session.requireStore().store.beginWrite() },
        MetaCommand("commit", "", "Commits what was written since .begin.") { session, _ in
            let store = try session.requireStore().store
            try store.commitWrite()
            session.write("committed as version \(store.version)\n")
        },
        MetaCommand("rollback", "", "Takes back everything since .begin.") { session, _ in
            try session.requireStore().store.cancelWrite()
            session.write("rolled back\n")
        },
        MetaCommand("redo", "", "Does again what the last .undo has undone.") { session, _ in
            let store = try session.requireStore().store
            try store.redo()
            session.write("redone; the store is at version \(store.version)\n")
        },
    ]
}
