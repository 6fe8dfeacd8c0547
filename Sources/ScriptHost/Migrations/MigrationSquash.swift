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
              squashes = \(LuaLiteral.string(last.checksum)),
              schema = \(SchemaDocument(schema).lua(indent: 2)),
            \(up)}

            """
    }
}
