import LuaHost
import ObjectStore
import StoreBindings

extension MetaCommand {
    /// Commands about the versions of a store.
    static var history: [MetaCommand] {
        [
            MetaCommand(
                "history", "",
                "List the versions with time, script, process and changes; arrows select, Enter shows the difference, g opens the version.",
                isPaged: true
            ) { session, _ in
                session.open(try HistoryPanel(session, session.requireLiveStore()))
            },
            MetaCommand(
                "diff", "[A [B]]",
                "Show the changes of the last commit, since version A, or between A and B.",
                argument: .number, isPaged: true
            ) { session, text in try session.writeDifference(text) },
            MetaCommand(
                "goto", "[VERSION]",
                "Show an earlier version: `store` reads that version. Without a version, return to the newest one.",
                argument: .number
            ) { session, text in
                guard !text.isEmpty else { return try session.returnToPresent() }
                let version = try session.version(text)
                try session.visit(version)
                guard session.visitedVersion == version else { return }
                session.write("store shows version \(version); .goto returns\n")
            },
            MetaCommand(
                "undo", "[VERSION]",
                "Reverse the last transaction, or restore the state of a version, in a new transaction.",
                argument: .number, code: "store:undo()"
            ) { session, text in
                let store = try session.requireLiveStore().store
                guard !text.isEmpty else {
                    let version = try store.undo()
                    return session.write(
                        "undid version \(version); the store is at version \(store.version)\n")
                }
                let version = try session.version(text)
                try store.restore(version)
                session.write(
                    "restored the state of version \(version) as version \(store.version)\n")
            },
        ]
    }
}

extension Session {
    /// Returns the live store, even while `store` shows one of its earlier versions.
    func requireLiveStore() throws -> StoreHandle {
        try visited?.handle ?? requireStore()
    }

    /// The name that `.pins` shows for versions that the prompt retains.
    var holder: VersionHolder { VersionHolder(script: "prompt") }

    /// Parses the number of a version, with or without a leading `v`.
    func version(_ text: String) throws -> UInt64 {
        let digits = text.hasPrefix("v") ? String(text.dropFirst()) : text
        guard let version = UInt64(digits) else {
            throw CommandError(
                "expected the number of a version, got '\(text)'; .history lists them")
        }
        return version
    }

    fileprivate func writeDifference(_ text: String) throws {
        let store = try requireLiveStore().store
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        guard words.count <= 2 else { throw CommandError(".diff takes at most two versions") }
        let versions = try words.map(version)
        let first = versions.first ?? (store.version > 0 ? store.version - 1 : 0)
        let second = versions.count > 1 ? versions[1] : store.version
        let difference = try store.difference(from: first, to: second, for: holder)
        screen.beginPage()
        for line in VersionText(style: style).lines(difference, limit: .max) { write(line + "\n") }
    }
}
