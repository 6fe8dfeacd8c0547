extension MetaCommand {
    static let writing: [MetaCommand] = [
        MetaCommand(
            "begin", "", "Begin a write transaction. End it with .commit or .rollback.",
            code: "store:begin_write()"
        ) { session, _ in try session.requireStore().store.beginWrite() },
        MetaCommand(
            "commit", "", "Commit the open write transaction.", code: "store:commit_write()"
        ) { session, _ in
            let store = try session.requireStore().store
            try store.commitWrite()
            session.write("committed as version \(store.version)\n")
        },
        MetaCommand(
            "rollback", "", "Roll back the open write transaction.", code: "store:cancel_write()"
        ) { session, _ in
            try session.requireStore().store.cancelWrite()
            session.write("rolled back\n")
        },
        MetaCommand(
            "redo", "", "Reapply the last transaction that .undo reversed.", code: "store:redo()"
        ) { session, _ in
            let store = try session.requireStore().store
            try store.redo()
            session.write("redone; the store is at version \(store.version)\n")
        },
    ]
}
