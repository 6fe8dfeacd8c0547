import EventLoops
import ObjectStore

/// A numbered migration in a folder: `0002_split_names.lua`.
package struct MigrationFile: Sendable {
    /// The number, which is the schema version after the migration.
    package let number: Int
    /// The name without the number and the extension.
    package let name: String
    /// The path.
    package let path: String
    /// The checksum of the source without comments and whitespace.
    package let checksum: String
    let source: [UInt8]

    /// Creates a migration file from its name and its content.
    init(number: Int, name: String, path: String, source: [UInt8]) {
        self.number = number
        self.name = name
        self.path = path
        self.source = source
        checksum = SourceChecksum.of(source)
    }

    /// The name of the file.
    package var fileName: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// The identity of an interrupted run of this migration.
    var resumeKey: String { "\(number) \(checksum) \(name)" }

    /// Returns whether an interrupted run was one of this migration, also under an earlier number.
    func isContinuation(of interrupted: InterruptedMigration) -> Bool {
        ([checksum] + formerChecksums).contains { interrupted.checksum == $0 }
    }

    /// The path of the test file: `0002_split_names_test.lua`.
    package var testPath: String { String(path.dropLast(4)) + "_test.lua" }

    /// The checksums of the file before `migrate merge` rewrote it, from `merged_from = { "…" }`.
    ///
    /// They are read from the text, so that a store can be compared with a folder without running its files.
    var formerChecksums: [String] { SourceChecksum.strings(of: "merged_from", in: source) }

    /// The checksum of the last migration that this file replaces, from `squashes = "…"`.
    var squashedChecksum: String? { SourceChecksum.strings(of: "squashes", in: source).first }

    /// Whether the file adopts changes that were made to a store outside of the migrations, from `adopts = "…"`.
    ///
    /// Such a store already has these changes when the pending files that precede this file are applied.
    var isAdoption: Bool { !SourceChecksum.strings(of: "adopts", in: source).isEmpty }

    /// The identity of the folder that the file was written against, from `parent = "…"`.
    var parent: String? { SourceChecksum.strings(of: "parent", in: source).first }

    /// Returns the source of a migration, a test or another script; an error contains the `name`, or the path.
    static func source(
        of path: String, called name: String? = nil
    ) throws(StoreError) -> [UInt8] {
        do {
            return try ProcessServices.readWhole(path, limit: 16 << 20)
        } catch {
            throw StoreError(
                .invalidArgument, "\(name ?? "'\(path)'") cannot be read: \(error.reason)")
        }
    }
}
