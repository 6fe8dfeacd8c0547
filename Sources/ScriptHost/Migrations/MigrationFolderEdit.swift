import EventLoops
import ObjectStore
import Reference
import StoreBindings

/// A change of the files of a folder of migrations that is shown before it is made.
package struct MigrationFolderEdit {
    /// What will happen, in sentences.
    package let steps: [String]
    /// The difference of texts that are rewritten, in lines.
    package let difference: [String]
    /// Whether there is nothing to do.
    package var isEmpty: Bool { steps.isEmpty }
    private let make: () throws -> Void

    init(steps: [String], difference: [String] = [], _ make: @escaping () throws -> Void) {
        self.steps = steps
        self.difference = difference
        self.make = make
    }

    /// Makes the change.
    package func apply() throws { try make() }

    /// The change for programs.
    package var value: ReportValue {
        .members(["steps": .texts(steps), "difference": .texts(difference)])
    }

    /// Writes a file.
    static func write(_ text: String, to path: String) throws {
        if let reason = ProcessServices.write(text, to: path) {
            throw StoreError(.invalidArgument, "'\(path)' cannot be written: \(reason)")
        }
    }
}

/// Puts one of two migrations with the same number, from two branches, behind the others.
package struct MigrationMerge {
    private let module: StoreModule
    private let listing: MigrationListing

    /// For a folder; throws `invalid_argument` if it cannot be read.
    package init(_ module: StoreModule, folder: String) throws {
        self.module = module
        listing = try MigrationListing(folder)
    }

    /// The migrations that share a number with another one, or that were skipped.
    package var candidates: [MigrationFile] {
        listing.files.filter { file in
            listing.files.contains { $0.number == file.number && $0.path != file.path }
        }
    }

    /// The candidate that a store has not applied, if there is exactly one.
    package func unapplied(inStore store: String) throws -> MigrationFile? {
        guard ProcessServices.size(of: store) ?? 0 > 0 else {
            throw StoreError(.invalidArgument, "there is no store '\(store)'")
        }
        let log = try module.withStore(StoreConfiguration(.file(store), isReadOnly: true)) {
            try $0.store.migrationLog()
        }
        let left = candidates.filter { file in
            !log.entries.contains { $0.checksum == file.checksum }
        }
        return left.count == 1 ? left[0] : nil
    }

    /// The migration of a name or a path.
    ///
    /// Throws `invalid_argument` if there is none.
    package func file(named name: String) throws -> MigrationFile {
        let wanted = name.split(separator: "/").last.map(String.init) ?? name
        guard let file = listing.files.first(where: { $0.fileName == wanted }) else {
            throw StoreError(
                .invalidArgument,
                "'\(listing.path)' has no migration '\(wanted)'"
                    + NearestName.hint(for: wanted, among: listing.files.map(\.fileName)))
        }
        return file
    }

    /// Renumbers a migration behind the others, and rewrites its schema against the schema that they lead to.
    ///
    /// Throws `invalid_argument` if the remaining files are not in order, and `invalid_schema` where both branches have
    /// changed the same property or class in different ways.
    package func edit(moving file: MigrationFile) throws -> MigrationFolderEdit {
        let others = listing.files.filter { $0.path != file.path }
        guard let last = others.last else { return MigrationFolderEdit(steps: []) {} }
        if last.number < file.number, others.allSatisfy({ $0.number != file.number }) {
            return MigrationFolderEdit(steps: []) {}
        }
        for (one, next) in zip(others, others.dropFirst()) where one.number + 1 != next.number {
            throw StoreError(
                .invalidArgument,
                "without '\(file.fileName)' the numbers of '\(listing.path)' are not consecutive: "
                    + "'\(one.fileName)', '\(next.fileName)'; merge one migration after the other")
        }
        let number = last.number + 1
        let directory = MigrationDirectory(path: listing.path, files: others)
        let scripts = MigrationScripts(directory, module)
        let base = try scripts.schema(after: directory.file(before: file.number))
        let script = try scripts.run(file) { try MigrationScript(file, on: base, module) }
        let latest = try scripts.schema(after: last)
        let merged = try SchemaDelta(from: base, to: script.schema).applied(to: latest)
        var source = String(decoding: file.source, as: UTF8.self)
        let old = source
        if !SourceChecksum.mentions("changes", in: file.source) {
            source = try LuaTableText.replacing(
                "schema", in: source, with: SchemaDocument(merged).lua(indent: 2))
        }
        source = LuaTableText.setting(
            "parent", in: source, to: LuaLiteral.string(directory.identity(before: number)))
        let former = file.formerChecksums + [file.checksum]
        source = LuaTableText.setting(
            "merged_from", in: source,
            to: "{ \(former.map(LuaLiteral.string).joined(separator: ", ")) }")
        let name = "\(MigrationState.number(number))_\(file.name).lua"
        let path = MigrationListing.path(name, in: listing.path)
        let (oldTest, newTest) = (file.testPath, String(path.dropLast(4)) + "_test.lua")
        let hasTest = ProcessServices.size(of: oldTest) != nil
        var steps = ["'\(file.fileName)' becomes '\(name)'"]
        if hasTest { steps.append("its tests move with it") }
        let text = source
        return MigrationFolderEdit(
            steps: steps, difference: LineDifference.lines(from: old, to: text)
        ) {
            try MigrationFolderEdit.write(text, to: path)
            if hasTest {
                let test = try MigrationFile.source(of: oldTest)
                try MigrationFolderEdit.write(String(decoding: test, as: UTF8.self), to: newTest)
                ProcessServices.remove(oldTest)
            }
            ProcessServices.remove(file.path)
        }
    }
}

/// Replaces the first migrations of a folder by one with the same outcome.
package struct MigrationSquash {
    private let module: StoreModule
    private let directory: MigrationDirectory

    /// For a folder.
    package init(_ module: StoreModule, directory: MigrationDirectory) {
        self.module = module
        self.directory = directory
    }

    /// One file with the schema after migration `number` and the data that the migrations up to it create in an empty
    /// store; the old files move to the folder `squashed`.
    ///
    /// Throws `invalid_argument` for a number that is not there, and what the migrations throw.
    package func edit(to number: Int) throws -> MigrationFolderEdit {
        guard let last = directory.file(number) else {
            throw StoreError(
                .invalidArgument,
                "there is no migration \(number) in '\(directory.path)'; the last one is "
                    + "\(directory.files.last?.number ?? 0)")
        }
        let squashed = directory.files.filter { $0.number <= number }
        guard squashed.count > 1 else { return MigrationFolderEdit(steps: []) {} }
        let text = try script(last)
        let name = "\(MigrationState.number(number))_squashed.lua"
        let folder = MigrationListing.path("squashed", in: directory.path)
        let moved = squashed.flatMap { file in
            [file.path, file.testPath].filter { ProcessServices.size(of: $0) != nil }
        }
        return MigrationFolderEdit(
            steps: [
                "'\(squashed[0].fileName)' to '\(last.fileName)' become '\(name)'",
                "the old files move to '\(folder)'",
            ]
        ) { [directory] in
            if ProcessServices.size(of: folder) == nil,
                let reason = ProcessServices.makeFolder(folder)
            {
                throw StoreError(
                    .invalidArgument, "the folder '\(folder)' cannot be created: \(reason)")
            }
            for path in moved {
                let source = try MigrationFile.source(of: path)
                let name = path.split(separator: "/").last.map(String.init) ?? path
                try MigrationFolderEdit.write(
                    String(decoding: source, as: UTF8.self),
                    to: MigrationListing.path(name, in: folder))
            }
            try MigrationFolderEdit.write(
                text, to: MigrationListing.path(name, in: directory.path))
            for path in moved { ProcessServices.remove(path) }
        }
    }

    private func script(_ last: MigrationFile) throws -> String {
        let scripts = MigrationScripts(directory, module)
        let configuration = StoreConfiguration(.memory("squash \(UUIDValue.random())"))
        let lines = try module.withStore(configuration) { handle in
            for file in directory.files where file.number <= last.number {
                let script = try scripts.script(file)
                _ = try handle.store.migrate(
                    to: script.schema, version: UInt64(file.number), dropping: script.drops,
                    if: { _ in true }, recording: { _, _ in },
                    migration: { migration in
                        try scripts.run(file) {
                            try module.run(
                                script.up, migration, handle, defaults: script.declared)
                        }
                    })
            }
            var data = SquashedData(handle.store)
            return try data.lines()
        }
        let schema = try scripts.schema(after: last)
        let up =
            lines.isEmpty
            ? "" : "\n  up = function(m)\n" + lines.map { "    \($0)\n" }.joined() + "  end,\n"
        return """
            -- The migrations up to \(last.fileName) in one. Stores that have applied them continue from here; older ones
            -- need the files in squashed/ first.
            return {
              squashes = \(LuaLiteral.string(last.checksum)),
              schema = \(SchemaDocument(schema).lua(indent: 2)),
            \(up)}

            """
    }
}
