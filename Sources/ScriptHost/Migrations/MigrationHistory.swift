import EventLoops
import ObjectStore

/// The record of a store beside the files of a folder: which file each recorded migration is now, and what is pending.
///
/// A migration that was renumbered is recognized by its content, by the checksums that `migrate merge` has written into
/// it, or by its name and code. A file that replaces several (`migrate squash`) counts as all of them.
struct MigrationHistory {
    /// Something that keeps a store and a folder apart.
    enum Problem {
        /// A recorded migration has no file any more.
        case withdrawn(MigrationLog.Entry, isNewer: Bool)
        /// A file was edited after the migration was applied.
        case edited(MigrationLog.Entry, MigrationFile)
        /// A file that a migration loads was edited after it was applied.
        case editedHelper(MigrationLog.Entry, MigrationFile, helper: String)
        /// A file was added before one that was applied.
        case skipped(MigrationFile, last: Int)
        /// The store has fewer migrations than a file replaces.
        case squashed(MigrationFile, last: Int)
        /// An interrupted migration whose file is gone or was edited.
        case abandoned(done: Int, total: Int)
        /// The schema version is not that of the last migration.
        case otherVersion(UInt64, MigrationFile)
        /// The schema is not that of the last migration.
        case otherSchema([SchemaDifference], MigrationFile)
    }

    /// A recorded migration and the file that it is now.
    struct Applied {
        let entry: MigrationLog.Entry
        let file: MigrationFile?
    }

    /// The recorded migrations, in the order of the record.
    let applied: [Applied]
    /// The files that come next, ascending by number; with renumbered migrations also such that come before applied ones.
    let pending: [MigrationFile]
    /// The problems that were found without reading the schema.
    private(set) var problems: [Problem] = []

    init(_ log: MigrationLog, _ directory: MigrationDirectory) {
        let entries = log.entries
        var taken: Set<Int> = []
        var applied: [Applied] = []
        let squash = directory.files.first { $0.squashedChecksum != nil }
        let squashedEntry = squash.flatMap { squash in
            entries.lastIndex { $0.checksum == squash.squashedChecksum }
        }
        for (index, entry) in entries.enumerated() {
            let file: MigrationFile?
            if let squash, let squashedEntry, index <= squashedEntry {
                file = squash
            } else {
                file = Self.file(of: entry, in: directory, besides: taken)
            }
            if let file { taken.insert(file.number) }
            applied.append(Applied(entry: entry, file: file))
        }
        self.applied = applied
        let last = applied.compactMap(\.file).filter { !$0.isAdoption }.map(\.number).max() ?? 0
        pending = directory.files.filter { !taken.contains($0.number) }
        for (entry, file) in applied.map({ ($0.entry, $0.file) }) {
            guard let file else {
                problems.append(
                    .withdrawn(entry, isNewer: entry.number > directory.files.last?.number ?? 0))
                continue
            }
            // The files that a squashed one replaces are gone, and nothing can have changed in them.
            if file.squashedChecksum != nil { continue }
            if !Self.isSame(entry, file) { problems.append(.edited(entry, file)) }
            for (name, checksum) in entry.helpers.sorted(by: { $0.key < $1.key }) {
                let path = MigrationListing.path(name, in: directory.path)
                guard let source = try? MigrationFile.source(of: path),
                    SourceChecksum.of(source) == checksum
                else {
                    problems.append(.editedHelper(entry, file, helper: name))
                    continue
                }
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
            guard let file = applied.file, file.squashedChecksum == nil else { return false }
            return file.number != applied.entry.number
        }
    }

    /// The file of the folder that the schema of the store should be that of: the last one that was applied.
    var last: MigrationFile? {
        applied.compactMap(\.file).max { $0.number < $1.number }
    }

    /// The record with the numbers and names that the files have now.
    var recorded: [MigrationLog.Entry] {
        applied.map { applied in
            guard let file = applied.file, file.squashedChecksum == nil else {
                return applied.entry
            }
            var entry = applied.entry
            entry.number = file.number
            entry.name = file.name
            entry.checksum = file.checksum
            return entry
        }.sorted { $0.number < $1.number }
    }

    /// The file that a recorded migration is now: one with its content, otherwise one with its name and code, its number
    /// and code, or its name, in this order.
    ///
    /// A file that has only the number in common is another migration. So is one without functions that has another name:
    /// all files without functions have the same code.
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
                    && SourceChecksum.mentions("up", in: file.source)
            },
            { $0.number == entry.number && $0.name == entry.name },
            { $0.name == entry.name },
        ]
        for rule in rules {
            if let file = files.first(where: rule) { return file }
        }
        return nil
    }

    /// Whether a file is a migration that was recorded, under whatever number.
    private static func isSame(_ entry: MigrationLog.Entry, _ file: MigrationFile) -> Bool {
        file.checksum == entry.checksum || file.formerChecksums.contains(entry.checksum)
            || file.squashedChecksum == entry.checksum
            || (file.number != entry.number && file.name == entry.name && isSameCode(entry, file))
    }

    private static func isSameCode(_ entry: MigrationLog.Entry, _ file: MigrationFile) -> Bool {
        !entry.codeChecksum.isEmpty && entry.codeChecksum == SourceChecksum.ofCode(file.source)
    }
}

extension MigrationHistory.Problem {
    /// The problem, and its solution.
    func message(store: String, folder: String) -> String {
        switch self {
        case .withdrawn(let entry, let isNewer):
            return
                "migration \(entry.number) (\(entry.name)) was applied, and is not in '\(folder)'"
                + (isNewer ? ": the store is newer than the folder" : "")
                + "; restore the file, or run moonpool migrate repair"
        case .edited(let entry, let file):
            let renamed = entry.number == file.number ? "" : " as number \(entry.number)"
            return
                "'\(file.path)' was edited, in more than comments, after it was applied\(renamed); revert the "
                + "edit and write another migration, or accept it with moonpool migrate repair"
        case .editedHelper(_, let file, let helper):
            return
                "'\(helper)', which '\(file.fileName)' loads, was edited or removed after the migration was "
                + "applied; revert that, or accept it with moonpool migrate repair"
        case .skipped(let file, let last):
            return
                "'\(file.path)' was never applied, and migration \(last) was; move it behind the others with "
                + "moonpool migrate merge \(file.fileName)"
        case .squashed(let file, let last):
            return
                "'\(store)' is at migration \(last), and '\(file.fileName)' replaces later ones; apply the files in "
                + "'\(folder)/squashed' first"
        case .abandoned(let done, let total):
            return
                "a migration was interrupted after \(done) of \(total) objects, and no file of '\(folder)' "
                + "continues it; restore the file and run up, or run moonpool migrate repair"
        case .otherVersion(let version, let file):
            return
                "the store has schema version \(version), and '\(file.fileName)' leads to \(file.number): a program "
                + "has migrated it; record that with moonpool migrate baseline"
        case .otherSchema(let differences, let file):
            return "the schema was changed by hand; to be that of '\(file.fileName)', "
                + differences.map(\.description).joined(separator: ", ")
                + "; adopt the change with moonpool migrate repair"
        }
    }

    /// Whether the record of the store and the files of the folder disagree, whatever the schema is.
    var concernsRecord: Bool {
        switch self {
        case .abandoned, .otherVersion, .otherSchema: false
        default: true
        }
    }

    /// The file that the problem is in, if there is one.
    var file: MigrationFile? {
        switch self {
        case .edited(_, let file), .editedHelper(_, let file, _), .skipped(let file, _),
            .squashed(let file, _), .otherVersion(_, let file), .otherSchema(_, let file):
            file
        default: nil
        }
    }
}

extension MigrationLog.Entry {
    /// The entry of a migration that is applied now.
    init(of file: MigrationFile) {
        self.init(
            number: file.number, name: file.name, checksum: file.checksum, appliedAt: .now)
        codeChecksum = SourceChecksum.ofCode(file.source)
    }
}
