import EventLoops
import LuaHost
import ObjectStore

/// A numbered migration in a folder: `0002_split_names.lua`.
package struct MigrationFile: Sendable {
    /// The number, which is the schema version after the migration.
    package let number: Int
    /// The name without the number and the extension.
    package let name: String
    /// The path.
    package let path: String
    let source: [UInt8]
    let identity: CodeIdentity
    /// The description in the table that the file returns.
    let heading: MigrationHeading

    /// Creates a migration file from its name and its content.
    init(
        number: Int, name: String, path: String, source: [UInt8], _ state: LuaState,
        heading: MigrationHeading = MigrationHeading()
    ) {
        self.heading = heading
        self.number = number
        self.name = name
        self.path = path
        self.source = source
        identity = CodeIdentity(source, state)
    }

    /// The checksum of the compiled code.
    package var checksum: String { identity.checksum }

    /// Returns whether a record is that of the file, or of the file before `migrate merge` rewrote it.
    func isOrWas(_ record: String) -> Bool {
        identity.matches(record)
            || CodeIdentity.checksums(in: record).contains(where: heading.formerChecksums.contains)
    }

    /// The name of the file.
    package var fileName: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// The identity of an interrupted run of this migration.
    var resumeKey: String { "\(number) \(identity.record) \(name)" }

    /// Returns whether an interrupted run was one of this migration, also under an earlier number.
    func isContinuation(of interrupted: InterruptedMigration) -> Bool {
        interrupted.checksum.map(isOrWas) ?? false
    }

    /// The path of the test file: `0002_split_names_test.lua`.
    package var testPath: String { String(path.dropLast(4)) + "_test.lua" }

    /// The name of the test file.
    var testName: String { String(fileName.dropLast(4)) + "_test.lua" }

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
