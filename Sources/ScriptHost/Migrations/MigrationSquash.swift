import EventLoops
import ObjectStore
import Reference
import StoreBindings

/// Replaces the first migrations of a folder with one migration that has the same result.
package struct MigrationSquash {
    private let module: StoreModule
    private let directory: MigrationDirectory

    /// Creates a squash for a folder.
    package init(_ module: StoreModule, directory: MigrationDirectory) {
        self.module = module
        self.directory = directory
    }

    /// Plans to move the files that an interrupted squash has left in a folder; nil if there are none.
    package static func unfinished(
        _ module: StoreModule, folder: String
    ) throws -> MigrationFolderEdit? {
        guard let squash = try MigrationListing(folder, module).unfinishedSquash else { return nil }
        return try edit(folder, moving: squash.replaced, to: squash.file.fileName, nil)
    }

    /// Plans to move files to the folder `squashed` and to write the file that replaces them.
    private static func edit(
        _ path: String, moving files: [MigrationFile], to name: String, _ text: String?
    ) throws -> MigrationFolderEdit {
        let folder = MigrationListing.path("squashed", in: path)
        let names = files.flatMap { [$0.fileName, $0.testName] }.filter {
            ProcessServices.exists(MigrationListing.path($0, in: path))
        }
        let moves = try names.map { name in
            let source = try MigrationFile.source(of: MigrationListing.path(name, in: path))
            return (name: "squashed/\(name)", text: String(decoding: source, as: UTF8.self))
        }
        if !ProcessServices.exists(folder), let reason = ProcessServices.makeFolder(folder) {
            throw StoreError(
                .invalidArgument, "the folder '\(folder)' cannot be created: \(reason)")
        }
        return MigrationFolderEdit(
            steps: [
                "'\(files[0].fileName)' to '\(files[files.count - 1].fileName)' become '\(name)'",
                "the old files move to '\(folder)'",
            ], folder: path, writing: moves + (text.map { [(name, $0)] } ?? []), removing: names)
    }

    /// Plans one file with the schema after migration `number`, and the data that these migrations create in an empty
    /// store.
    ///
    /// The old files move to the folder `squashed`. Throws `invalid_argument` for a number that does not exist, and the
    /// errors of the migrations.
    package func edit(to number: Int) throws -> MigrationFolderEdit {
        guard let last = directory.file(number) else {
            throw StoreError(
                .invalidArgument,
                "there is no migration \(number) in '\(directory.path)'; the last one is "
                    + "\(directory.files.last?.number ?? 0)")
        }
        let squashed = directory.files.filter { $0.number <= number }
        guard squashed.count > 1 else {
            return MigrationFolderEdit(steps: [], folder: directory.path)
        }
        let name = "\(MigrationState.number(number))_squashed.lua"
        return try Self.edit(directory.path, moving: squashed, to: name, script(last))
    }

    private func script(_ last: MigrationFile) throws -> String {
        let scripts = MigrationScripts(directory, module)
        let configuration = StoreConfiguration(.memory("squash \(UUIDValue.random())"))
        let borrowed = try module.borrow(configuration)
        defer { borrowed.end() }
        for file in directory.files where file.number <= last.number {
            try scripts.apply(scripts.script(file), to: borrowed.handle)
        }
        var data = SquashedData(borrowed.store)
        let lines = try data.lines()
        let schema = try scripts.schema(after: last)
        let up =
            lines.isEmpty
            ? "" : "\n  up = function(m)\n" + lines.map { "    \($0)\n" }.joined() + "  end,\n"
        return """
            -- The migrations up to \(last.fileName) in one. Stores that have applied them continue from here; older ones
            -- need the files in squashed/ first.
            return {
              squashes = \(LuaLiteral.strings(last.identity.checksums)),
              schema = \(SchemaDocument(schema).lua(indent: 2)),
            \(up)}

            """
    }
}
