import EventLoops
import ObjectStore

/// Compares the migration record of a store with the files of a folder: the current file of each recorded migration,
/// and the pending files.
///
/// A renumbered migration is recognized by its content, by the checksums that `migrate merge` has written into it, or
/// by its name and code. A file that replaces several (`migrate squash`) counts as all of them.
struct MigrationHistory {
    /// A mismatch between a store and a folder.
    enum Problem {
        /// A recorded migration no longer has a file.
        case withdrawn(MigrationLog.Entry, isNewer: Bool)
        /// A file was edited after the migration was applied.
        case edited(MigrationLog.Entry, MigrationFile)
        /// A file that a migration loads was edited after the migration was applied.
        case editedHelper(MigrationLog.Entry, MigrationFile, helper: String)
        /// A file was added before an applied one.
        case skipped(MigrationFile, last: Int)
        /// The store has only some of the migrations that a file replaces.
        case squashed(MigrationFile, last: Int)
        /// The file of an interrupted migration was edited, or is not the next one of the folder; `file` is the edited
        /// file.
        case interrupted(InterruptedMigration, file: MigrationFile?, backup: String?)
        /// A renumbered file does not have the changes of a pending file that now precedes it.
        case notRebased(MigrationFile, on: MigrationFile, [SchemaDifference])
        /// The schema version of the store is not that of the last migration.
        case otherVersion(UInt64, MigrationFile)
        /// The schema of the store is not that of the last migration.
        case otherSchema([SchemaDifference], MigrationFile)
    }

    /// A recorded migration and its current file.
    struct Applied {
        let entry: MigrationLog.Entry
        let file: MigrationFile?
        fileprivate let directory: MigrationDirectory

        /// The entry with the number, the name and the content that its file has now.
        var accepted: MigrationLog.Entry {
            guard let file, !file.heading.isSquash else { return entry }
            var entry = entry
            entry.number = file.number
            entry.name = file.name
            entry.checksum = file.identity.record
            entry.codeChecksum = file.heading.codeChecksum
            for name in entry.helpers.keys {
                entry.helpers[name] = directory.identity(ofHelper: name)?.record
            }
            return entry
        }
    }

    /// The recorded migrations, in the order of the record.
    let applied: [Applied]
    /// The pending files in ascending order; with renumbered migrations, some can precede applied ones.
    let pending: [MigrationFile]
    /// The problems that are found without reading the schema.
    private(set) var problems: [Problem] = []

    init(_ log: MigrationLog, _ directory: MigrationDirectory) {
        let entries = log.entries
        var taken: Set<Int> = []
        var applied: [Applied] = []
        let squash = directory.files.first(where: \.heading.isSquash)
        let squashedEntry = squash.flatMap { squash in
            entries.lastIndex { squash.heading.replaces($0.checksum) }
        }
        for (index, entry) in entries.enumerated() {
            let file: MigrationFile?
            if let squash, let squashedEntry, index <= squashedEntry {
                file = squash
            } else {
                file = Self.file(of: entry, in: directory, besides: taken)
            }
            if let file { taken.insert(file.number) }
            applied.append(Applied(entry: entry, file: file, directory: directory))
        }
        self.applied = applied
        let last =
            applied.compactMap(\.file).filter { !$0.heading.isAdoption }.map(\.number).max() ?? 0
        pending = directory.files.filter { !taken.contains($0.number) }
        for (entry, file) in applied.map({ ($0.entry, $0.file) }) {
            guard let file else {
                problems.append(
                    .withdrawn(entry, isNewer: entry.number > directory.files.last?.number ?? 0))
                continue
            }
            // The files that a squashed migration has replaced no longer exist, so they cannot have been edited.
            if file.heading.isSquash { continue }
            if !Self.isSame(entry, file) { problems.append(.edited(entry, file)) }
            for (name, checksum) in entry.helpers.sorted(by: { $0.key < $1.key })
            where directory.identity(ofHelper: name)?.matches(checksum) != true {
                problems.append(.editedHelper(entry, file, helper: name))
            }
        }
        if let squash, squashedEntry == nil, let entry = entries.last, entry.number < squash.number
        {
            problems = [.squashed(squash, last: entry.number)]
        } else if !isRenumbered {
            for file in pending where file.number < last {
                problems.append(.skipped(file, last: last))
            }
        }
    }

    /// Whether a recorded migration has another number in the folder.
    var isRenumbered: Bool {
        applied.contains { applied in
            guard let file = applied.file, !file.heading.isSquash else {
                return false
            }
            return file.number != applied.entry.number
        }
    }

    /// Whether the record does not have the current numbers, names or checksums of its files.
    var isOutdated: Bool {
        applied.contains { applied in
            let entry = applied.accepted
            return entry.number != applied.entry.number || entry.checksum != applied.entry.checksum
        }
    }

    /// The last applied file, whose schema the store should have.
    var last: MigrationFile? {
        applied.compactMap(\.file).max { $0.number < $1.number }
    }

    /// The record with the current numbers, names and checksums of the files.
    var recorded: [MigrationLog.Entry] {
        applied.map(\.accepted).sorted { $0.number < $1.number }
    }

    /// Returns the current file of a recorded migration.
    ///
    /// The candidates are, in this order: a file with the same content, with the same name and code, with the same
    /// number and code, or with the same name. A file with only the same number is another migration. A file without
    /// functions and with another name is also another migration, because all files without functions have the same
    /// code.
    private static func file(
        of entry: MigrationLog.Entry, in directory: MigrationDirectory, besides taken: Set<Int>
    ) -> MigrationFile? {
        let files = directory.files.filter { !taken.contains($0.number) }
            .sorted { one, other in one.number == entry.number && other.number != entry.number }
        let rules: [(MigrationFile) -> Bool] = [
            { isSame(entry, $0) },
            { $0.name == entry.name && isSameCode(entry, $0) },
            { file in
                file.number == entry.number && isSameCode(entry, file)
                    && file.heading.hasUp
            },
            { $0.number == entry.number && $0.name == entry.name },
            { $0.name == entry.name },
        ]
        for rule in rules {
            if let file = files.first(where: rule) { return file }
        }
        return nil
    }

    /// Returns whether a file is a recorded migration, under any number.
    private static func isSame(_ entry: MigrationLog.Entry, _ file: MigrationFile) -> Bool {
        file.isOrWas(entry.checksum) || file.heading.replaces(entry.checksum)
            || (file.number != entry.number && file.name == entry.name && isSameCode(entry, file))
    }

    private static func isSameCode(_ entry: MigrationLog.Entry, _ file: MigrationFile) -> Bool {
        !entry.codeChecksum.isEmpty && entry.codeChecksum == file.heading.codeChecksum
    }
}

extension MigrationHistory.Problem {
    /// Returns a description of the problem, with the advice.
    func message(store: String, folder: String) -> String {
        "\(description(store: store, folder: folder)); \(advice(store: store, folder: folder))"
    }

    private func description(store: String, folder: String) -> String {
        switch self {
        case .withdrawn(let entry, let isNewer):
            return
                "migration \(entry.number) (\(entry.name)) was applied, but is not in '\(folder)'"
                + (isNewer ? ": the store is newer than the folder" : "")
        case .edited(let entry, let file):
            let renamed = entry.number == file.number ? "" : " as number \(entry.number)"
            return "the code of '\(file.path)' was edited after it was applied\(renamed)"
        case .editedHelper(_, let file, let helper):
            return
                "'\(helper)', which '\(file.fileName)' loads, was edited or removed after the migration was applied"
        case .skipped(let file, let last):
            return "'\(file.path)' was not applied, but the later migration \(last) was"
        case .squashed(let file, let last):
            return "'\(store)' is at migration \(last), and '\(file.fileName)' replaces later ones"
        case .interrupted(let state, let file, _):
            let cause =
                file.map { "'\($0.path)' was edited since" }
                ?? "the next file of '\(folder)' is another one"
            return
                "migration \(state.number ?? 0) was interrupted after \(state.done) of \(state.total) objects, whose "
                + "values it has changed, and \(cause)"
        case .notRebased(let file, let earlier, let differences):
            return
                "'\(file.path)' was applied under another number, and its schema does not have the changes of "
                + "'\(earlier.fileName)', which now precedes it: " + Self.list(differences)
        case .otherVersion(let version, let file):
            return
                "the store has schema version \(version), and '\(file.fileName)' leads to \(file.number): a program "
                + "has migrated it"
        case .otherSchema(let differences, let file):
            return
                "the schema was changed outside of the migrations; to match '\(file.fileName)', "
                + Self.list(differences)
        }
    }

    private static func list(_ differences: [SchemaDifference]) -> String {
        differences.map(\.description).joined(separator: ", ")
    }

    /// Returns what to do about the problem.
    func advice(store: String, folder: String) -> String {
        switch self {
        case .withdrawn: "restore the file, or run moonpool migrate repair"
        case .edited:
            "revert the edit and write another migration, or accept it with moonpool migrate repair"
        case .editedHelper: "revert that, or accept it with moonpool migrate repair"
        case .skipped(let file, _):
            "move it after the others with moonpool migrate merge \(file.fileName)"
        case .squashed: "apply the files in '\(folder)/squashed' first"
        case .interrupted(_, let file, let backup):
            (file == nil
                ? "restore the file and run moonpool migrate up \(store) --dir \(folder)"
                : "continue after them with moonpool migrate up \(store) --dir \(folder) --continue")
                + ", or "
                + (backup.map {
                    "return to the backup '\($0)' with moonpool migrate undo \(store) --dir \(folder)"
                } ?? "restore a copy of the store, because no backup was made")
        case .notRebased(let file, _, _):
            (file.heading.parent == nil ? "restore its number and run" : "run")
                + " moonpool migrate merge \(file.fileName)"
        case .otherVersion: "record that with moonpool migrate baseline"
        case .otherSchema: "adopt the change with moonpool migrate repair"
        }
    }

    /// The file with the problem; nil if there is none.
    var file: MigrationFile? {
        switch self {
        case .edited(_, let file), .editedHelper(_, let file, _), .skipped(let file, _),
            .squashed(let file, _), .otherVersion(_, let file), .otherSchema(_, let file):
            file
        case .interrupted(_, let file, _): file
        case .notRebased(let file, _, _): file
        default: nil
        }
    }
}

extension MigrationLog.Entry {
    /// Creates the entry of a migration that is being applied.
    init(of file: MigrationFile) {
        self.init(
            number: file.number, name: file.name, checksum: file.identity.record, appliedAt: .now)
        codeChecksum = file.heading.codeChecksum
    }
}
