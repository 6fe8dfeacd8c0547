import EventLoops
import ObjectStore

/// The numbered migrations of a folder.
package struct MigrationDirectory: Sendable {
    /// The folder.
    package let path: String
    /// The migrations, ascending by number, without gaps.
    package let files: [MigrationFile]

    /// Reads a folder.
    ///
    /// Files whose names do not begin with a number and `_`, and tests (`…_test.lua`), are passed over.
    /// Throws `invalid_argument` if it cannot be read, has no migrations, or their numbers do not follow
    /// each other.
    package init(_ path: String) throws {
        guard let names = ProcessServices.names(in: path) else {
            throw StoreError(.invalidArgument, "the folder '\(path)' cannot be read")
        }
        self.path = path
        files = try names.sorted().compactMap { try Self.file($0, in: path) }
            .sorted { $0.number < $1.number }
        guard !files.isEmpty else {
            throw StoreError(
                .invalidArgument,
                "the folder '\(path)' has no migrations; they are called 0001_what_it_does.lua and so on"
            )
        }
        for (file, next) in zip(files, files.dropFirst()) {
            guard file.number != next.number else {
                throw StoreError(
                    .invalidArgument,
                    "'\(path)': '\(file.fileName)' and '\(next.fileName)' have the same number; give one "
                        + "of them the next free one")
            }
            guard file.number + 1 == next.number else {
                throw StoreError(
                    .invalidArgument,
                    "'\(path)': '\(next.fileName)' follows '\(file.fileName)': migration "
                        + "\(file.number + 1) is missing; number them without gaps")
            }
        }
    }

    private static func file(_ name: String, in folder: String) throws -> MigrationFile? {
        guard name.hasSuffix(".lua"), !name.hasSuffix("_test.lua") else { return nil }
        let digits = name.prefix { ("0"..."9").contains($0) }
        let rest = name.dropFirst(digits.count)
        guard !digits.isEmpty, rest.hasPrefix("_") else { return nil }
        let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
        guard let number = Int(digits), number > 0, number < 1 << 50 else {
            throw StoreError(
                .invalidArgument,
                "'\(path)': migrations are numbered from 1 on, with 15 digits at most")
        }
        let source = try MigrationFile.source(of: path)
        return MigrationFile(
            number: number, name: String(rest.dropFirst().dropLast(4)), path: path,
            checksum: SourceChecksum.of(source), source: source)
    }

    /// The migration of a number.
    package func file(_ number: Int) -> MigrationFile? { files.first { $0.number == number } }
}
