import EventLoops
import ObjectStore

/// A numbered migration in a folder: `0002_split_names.lua`.
package struct MigrationFile: Sendable {
    /// The number, which is the schema version that the migration leads to.
    package let number: Int
    /// The name without number and ending.
    package let name: String
    /// The path.
    package let path: String
    /// Identifies the source, except for comments and white space.
    package let checksum: String
    let source: [UInt8]

    /// Describes a file of a folder by what it holds.
    init(number: Int, name: String, path: String, source: [UInt8]) {
        self.number = number
        self.name = name
        self.path = path
        self.source = source
        checksum = SourceChecksum.of(source)
    }

    /// The name of the file.
    package var fileName: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// Identifies an interrupted run of this migration.
    var resumeKey: String { "\(number) \(checksum)" }

    /// The path of its tests: `0002_split_names_test.lua`.
    package var testPath: String { String(path.dropLast(4)) + "_test.lua" }

    /// The checksums that the file had before `migrate merge` rewrote it, from `merged_from = { "…" }`.
    ///
    /// Read from the text, so that a store can be compared with a folder without running its files.
    var formerChecksums: [String] { SourceChecksum.strings(of: "merged_from", in: source) }

    /// The checksum of the last of the migrations that the file replaces, from `squashes = "…"`.
    var squashedChecksum: String? { SourceChecksum.strings(of: "squashes", in: source).first }

    /// Whether the file adopts what was done to a store outside of the migrations, from `adopts = "…"`.
    ///
    /// Such a store has applied it before the pending files that precede it.
    var isAdoption: Bool { !SourceChecksum.strings(of: "adopts", in: source).isEmpty }

    /// The identity of the folder that the file was written against, from `parent = "…"`.
    var parent: String? { SourceChecksum.strings(of: "parent", in: source).first }

    /// The source of a script of a migration or of its tests, or of another one; the error names it `name`, or by its
    /// path.
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
