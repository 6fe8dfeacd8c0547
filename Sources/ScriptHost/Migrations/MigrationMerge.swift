import EventLoops
import ObjectStore
import Reference
import StoreBindings

/// Renumbers the migrations of one of two branches that use the same numbers, so that they follow the migrations of the
/// other branch.
package struct MigrationMerge {
    private let module: StoreModule
    private let listing: MigrationListing

    /// Creates a merge for a folder; throws `invalid_argument` if the folder cannot be read.
    package init(_ module: StoreModule, folder: String) throws {
        self.module = module
        listing = try MigrationListing(folder, module)
        if let squash = listing.unfinishedSquash { throw squash.error(folder) }
    }

    /// Plans to remove a migration that an interrupted merge has already copied; nil if there is none.
    package var unfinished: MigrationFolderEdit? {
        guard let (moved, copy) = listing.unfinishedMove,
            copy.heading.formerChecksums.contains(where: moved.identity.matches)
        else { return nil }
        let move = Move(old: moved, new: copy)
        return MigrationFolderEdit(
            steps: move.steps, folder: listing.path,
            writing: move.writes.filter { $0.name != copy.fileName },
            removing: move.removals)
    }

    /// The migrations that share their number with another one.
    package var candidates: [MigrationFile] {
        listing.files.filter { file in
            listing.files.contains { $0.number == file.number && $0.path != file.path }
        }
    }

    /// Returns the migrations since the first shared number that a store has not applied; nil if they belong to both
    /// branches.
    package func unapplied(inStore store: String) throws -> [MigrationFile]? {
        try StoreFiles.requireStore(store)
        let borrowed = try module.borrow(StoreConfiguration(.file(store), isReadOnly: true))
        defer { borrowed.end() }
        let log = try borrowed.store.migrationLog()
        guard let first = candidates.first?.number else { return nil }
        let left = listing.files.filter { file in
            file.number >= first
                && !log.entries.contains { file.isOrWas($0.checksum) }
        }
        let paths = Set(left.map(\.path))
        let others = listing.files.filter { !paths.contains($0.path) }
        return left.isEmpty || Self.gap(in: left) != nil || Self.gap(in: others) != nil ? nil : left
    }

    /// Returns the migrations with these names or paths.
    ///
    /// A single migration selects the rest of its branch too, as far as the files record their parents. Throws
    /// `invalid_argument` for a name without a migration.
    package func files(named names: [String]) throws -> [MigrationFile] {
        let files = try names.map { name in
            let wanted = name.split(separator: "/").last.map(String.init) ?? name
            guard let file = listing.files.first(where: { $0.fileName == wanted }) else {
                throw StoreError(
                    .invalidArgument,
                    "'\(listing.path)' has no migration '\(wanted)'"
                        + NearestName.hint(for: wanted, among: listing.files.map(\.fileName)))
            }
            return file
        }
        if files.count == 1 { return branch(from: files[0]) }
        return files.sorted { $0.number < $1.number }
    }

    /// The first branch that was renumbered by hand: other migrations precede it than those that it was written on.
    package var renumbered: [MigrationFile] {
        listing.files.first { file in
            origin(of: file).count < listing.files.count { $0.number < file.number }
        }.map(branch) ?? []
    }

    /// Returns the migrations that a file was written on, according to its parent; by default, all with lower numbers.
    private func origin(of file: MigrationFile) -> [MigrationFile] {
        let before = listing.files.filter { $0.number < file.number }
        return (0...before.count).map { Array(before.prefix($0)) }.first {
            MigrationDirectory.isIdentity(file.heading.parent, of: $0)
        } ?? before
    }

    /// Returns a migration and its successors, according to their parents.
    package func branch(from file: MigrationFile) -> [MigrationFile] {
        let before = origin(of: file)
        var branch = [file]
        while let last = branch.last,
            let next = listing.files.first(where: {
                $0.number == last.number + 1
                    && MigrationDirectory.isIdentity($0.heading.parent, of: before + branch)
            })
        {
            branch.append(next)
        }
        return branch
    }

    /// Plans to renumber the migrations of a branch after the others, and to rebase their schemas on the schema of the
    /// others.
    ///
    /// Throws `invalid_argument` if the numbers of the remaining files are not consecutive, and `invalid_schema` if
    /// both branches have changed the same property or class in different ways.
    package func edit(moving files: [MigrationFile]) throws -> MigrationFolderEdit {
        let paths = Set(files.map(\.path))
        let others = listing.files.filter { !paths.contains($0.path) }
        guard let first = files.first, let last = others.last else {
            return MigrationFolderEdit(steps: [], folder: listing.path)
        }
        let origin = origin(of: first).filter { !paths.contains($0.path) }
        if last.number < first.number, origin.count == others.count {
            return MigrationFolderEdit(steps: [], folder: listing.path)
        }
        if let (one, next) = Self.gap(in: others) {
            throw StoreError(
                .invalidArgument,
                "without \(Self.list(files)) the numbers of '\(listing.path)' are not consecutive: "
                    + "'\(one.fileName)', '\(next.fileName)'; name all files of one branch, or use --store with a store "
                    + "that has applied the other branch")
        }
        let scripts = MigrationScripts(
            MigrationDirectory(path: listing.path, files: origin + files, listing.tables), module)
        var latest = try MigrationScripts(
            MigrationDirectory(path: listing.path, files: others, listing.tables), module
        ).schema(after: last)
        var moves: [Move] = []
        for file in files {
            let base = try scripts.schema(after: scripts.directory.file(before: file.number))
            latest = try SchemaDelta(from: base, to: scripts.schema(after: file)).applied(
                to: latest)
            let present = others + moves.map(\.new)
            moves.append(try move(file, to: last.number + moves.count + 1, latest, after: present))
        }
        return MigrationFolderEdit(
            steps: moves.flatMap(\.steps), difference: moves.flatMap(\.difference),
            folder: listing.path, writing: moves.flatMap(\.writes),
            removing: moves.flatMap(\.removals))
    }

    /// A file with its old and its new name.
    private struct Move {
        let old: MigrationFile
        let new: MigrationFile

        private var isRenamed: Bool { old.fileName != new.fileName }
        private var hasTest: Bool {
            isRenamed && ProcessServices.size(of: old.testPath) != nil
        }

        var steps: [String] {
            isRenamed
                ? ["'\(old.fileName)' becomes '\(new.fileName)'"]
                    + (hasTest ? ["its tests move with it"] : [])
                : ["'\(old.fileName)' is rebased on the migrations that precede it"]
        }

        var difference: [String] {
            LineDifference.lines(
                from: String(decoding: old.source, as: UTF8.self),
                to: String(decoding: new.source, as: UTF8.self))
        }

        var writes: [(name: String, text: String)] {
            let test = hasTest ? try? MigrationFile.source(of: old.testPath) : nil
            return [(new.fileName, String(decoding: new.source, as: UTF8.self))]
                + (test.map { [(new.testName, String(decoding: $0, as: UTF8.self))] } ?? [])
        }

        var removals: [String] {
            isRenamed ? [old.fileName] + (hasTest ? [old.testName] : []) : []
        }
    }

    private func move(
        _ file: MigrationFile, to number: Int, _ schema: [ClassSchema],
        after present: [MigrationFile]
    ) throws -> Move {
        var fields = [
            ("parent", LuaLiteral.string(MigrationDirectory.identity(of: present))),
            (
                "merged_from",
                LuaLiteral.strings(file.heading.formerChecksums + file.identity.checksums)
            ),
        ]
        if !file.heading.isDelta {
            fields.insert(("schema", SchemaDocument(schema).lua(indent: 2)), at: 0)
        }
        var source = String(decoding: file.source, as: UTF8.self)
        for (key, value) in fields {
            guard let edited = ReturnedTable.setting(key, in: source, to: value) else {
                throw StoreError(
                    .invalidArgument,
                    "'\(file.path)' does not end with 'return { … }', so '\(key)' cannot be written into it; edit it "
                        + "manually")
            }
            source = edited
        }
        let name = "\(MigrationState.number(number))_\(file.name).lua"
        return Move(
            old: file,
            new: MigrationFile(
                number: number, name: file.name,
                path: MigrationListing.path(name, in: listing.path), source: Array(source.utf8),
                module.state))
    }

    /// Returns two neighboring files whose numbers are not consecutive; nil if there are none.
    private static func gap(in files: [MigrationFile]) -> (MigrationFile, MigrationFile)? {
        zip(files, files.dropFirst()).first { $0.number + 1 != $1.number }
    }

    private static func list(_ files: [MigrationFile]) -> String {
        files.map { "'\($0.fileName)'" }.joined(separator: ", ")
    }
}
