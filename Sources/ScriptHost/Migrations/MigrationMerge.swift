import EventLoops
import ObjectStore
import Reference
import StoreBindings

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
        try StoreFiles.requireStore(store)
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
