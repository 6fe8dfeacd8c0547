import LineEditing
import ScriptHost

extension MetaCommand {
    static var writing: [MetaCommand] {
        [
            MetaCommand(
                "migration", "NAME [SINCE]",
                """
                Write the schema changes of the session, or since a version, as the next file of the folder `migrations` (another \
                folder: `db/NAME`), rehearse it on a copy of that version, and record it as applied.
                """, isUnsaved: true
            ) { session, text in
                let words = text.split(separator: " ").map(String.init)
                let version = words.count == 2 ? UInt64(words[1]) : nil
                guard words.count == 1 || version != nil else {
                    throw CommandError(
                        "expected a name, and a version number: .migration NAME [SINCE]")
                }
                let end = words[0].lastIndex(of: "/")
                let migration = SessionMigration(
                    session.context.storeModule, try session.requireStore(),
                    folder: end.map { FileNames.expanded(String(words[0][..<$0])) } ?? "migrations")
                let name = end.map { String(words[0][words[0].index(after: $0)...]) } ?? words[0]
                guard let report = try migration.write(name: name, since: version) else {
                    return session.write(
                        "the schema has not changed since "
                            + (version.map { "version \($0)" } ?? "the store was opened") + "\n")
                }
                session.write(report.lines.joined(separator: "\n") + "\n")
            }
        ]
    }
}
