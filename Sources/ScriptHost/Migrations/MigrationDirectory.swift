import EventLoops
import ObjectStore
import Reference
import StoreBindings

/// The numbered migrations of a folder.
package struct MigrationDirectory {
    /// The path of the folder.
    package let path: String
    /// The migrations in ascending order of their numbers, without gaps.
    package let files: [MigrationFile]
    /// The names of test files without a migration.
    package let strayTests: [String]
    let tables: MigrationTables

    /// Reads a folder, and runs each file once.
    ///
    /// Throws `invalid_argument` if the folder cannot be read, has no migrations or a misnamed one, if two files have the
    /// same origin, or if the numbers are not consecutive.
    package init(_ path: String, _ module: StoreModule) throws {
        let listing = try MigrationListing(path, module)
        self.path = path
        tables = listing.tables
        files = listing.files
        strayTests = listing.strayTests
        guard !files.isEmpty else {
            throw StoreError(
                .invalidArgument,
                "the folder '\(path)' has no migrations",
                advice: "name them 0001_what_it_does.lua and so on")
        }
        if let squash = listing.unfinishedSquash { throw squash.error(path) }
        if let (moved, copy) = listing.unfinishedMove {
            let isMerged = copy.heading.formerChecksums.contains(where: moved.identity.matches)
            throw StoreError(
                .invalidArgument,
                "'\(path)': '\(copy.fileName)' is \(isMerged ? "" : "a copy of ")'\(moved.fileName)'"
                    + (isMerged ? " after a merge, and both exist" : ""),
                advice: isMerged
                    ? "finish the merge with moonpool migrate merge \(moved.fileName) --dir \(path), or delete one of them"
                    : "delete one of them")
        }
        for (file, next) in zip(files, files.dropFirst()) {
            guard file.number != next.number else {
                throw StoreError(
                    .invalidArgument,
                    "'\(path)': '\(file.fileName)' and '\(next.fileName)' have the same number",
                    advice: "run moonpool migrate merge --dir \(path) to renumber one of them")
            }
            guard file.number + 1 == next.number else {
                throw StoreError(
                    .invalidArgument,
                    "'\(path)': '\(next.fileName)' follows '\(file.fileName)', and migration "
                        + "\(file.number + 1) is missing",
                    advice: "number them without gaps")
            }
        }
    }

    /// Creates a directory from files whose numbers are known to be consecutive.
    init(path: String, files: [MigrationFile], _ tables: MigrationTables) {
        self.path = path
        self.tables = tables
        self.files = files
        strayTests = []
    }

    /// Returns the message about a test file without a migration.
    func message(aboutStray name: String) -> String {
        "'\(name)' does not belong to a migration of '\(path)'"
    }

    static let strayAdvice = "give it the name of its migration with _test at the end, or delete it"

    /// Returns the migration with a number.
    package func file(_ number: Int) -> MigrationFile? { files.first { $0.number == number } }

    /// Returns the migration before another one; nil for the first.
    package func file(before number: Int) -> MigrationFile? {
        files.last { $0.number < number }
    }

    /// Returns the identity of the migrations before a number, which a new file records as its `parent`.
    package func identity(before number: Int) -> String {
        Self.identity(of: files.filter { $0.number < number })
    }

    /// Returns the identity of a file that migrations load, by its name in the folder; nil if it cannot be read.
    func identity(ofHelper name: String) -> CodeIdentity? {
        (try? MigrationFile.source(of: MigrationListing.path(name, in: path))).map {
            CodeIdentity($0, tables.state)
        }
    }

    /// Returns the identity of migrations and their order.
    static func identity(of files: [MigrationFile]) -> String {
        CodeIdentity.checksum(of: files.map(\.checksum))
    }

    /// Returns whether a file with this `parent` was written after some migrations.
    static func isIdentity(_ parent: String?, of files: [MigrationFile]) -> Bool {
        // Earlier builds used other checksums.
        parent == identity(of: files)
            || parent == CodeIdentity.checksum(of: files.map { $0.identity.checksums[1] })
    }
}

/// The content of a folder of migrations, even if the numbers are not consecutive.
package struct MigrationListing {
    /// The path of the folder.
    package let path: String
    /// The migrations in ascending order of number and name.
    package let files: [MigrationFile]
    /// The names of test files without a migration.
    package let strayTests: [String]
    let tables: MigrationTables

    /// Reads a folder, and runs each file once.
    ///
    /// Throws `invalid_argument` if the folder cannot be read, if an edit of it was interrupted, and for misnamed
    /// migrations.
    package init(_ path: String, _ module: StoreModule) throws {
        guard let names = ProcessServices.names(in: path) else {
            throw StoreError(.invalidArgument, "the folder '\(path)' cannot be read")
        }
        try MigrationFolderEdit.requireFinished(path)
        self.path = path
        let tables = MigrationTables(module, folder: path)
        self.tables = tables
        files = try names.sorted().compactMap { try Self.file($0, in: path, tables) }
            .sorted { ($0.number, $0.name) < ($1.number, $1.name) }
        let known = Set(files.map(\.testPath))
        strayTests = names.sorted().filter { name in
            name.hasSuffix("_test.lua") && !name.hasPrefix(".")
                && !known.contains(Self.path(name, in: path))
        }
    }

    /// A squashed migration and the files that it replaces, if they are still in the folder.
    var unfinishedSquash: UnfinishedSquash? {
        guard let file = files.last(where: \.heading.isSquash) else {
            return nil
        }
        let replaced = files.filter { $0.number <= file.number && $0.path != file.path }
        return replaced.isEmpty ? nil : UnfinishedSquash(file: file, replaced: replaced)
    }

    struct UnfinishedSquash {
        let file: MigrationFile
        let replaced: [MigrationFile]

        func error(_ path: String) -> StoreError {
            StoreError(
                .invalidArgument,
                "'\(path)': '\(file.fileName)' replaces '\(replaced[0].fileName)', and both exist",
                advice:
                    "finish the squash with moonpool migrate squash --to \(file.number) --dir \(path)"
            )
        }
    }

    /// A migration and its copy with another number, if both are in the folder; only one of them may run.
    var unfinishedMove: (moved: MigrationFile, copy: MigrationFile)? {
        for copy in files {
            let origins = copy.heading.formerChecksums
            // Files without code that were written twice are equal without a common origin.
            for file in files
            where file.path != copy.path && (file.name == copy.name || copy.heading.hasUp) {
                let isCopy = file.checksum == copy.checksum && file.name == copy.name
                if isCopy, file.number < copy.number, file.heading.hasUp { return (file, copy) }
                let isOrigin = origins.contains(where: file.identity.matches)
                if isOrigin || !Set(origins).isDisjoint(with: file.heading.formerChecksums) {
                    return isOrigin || file.number < copy.number ? (file, copy) : (copy, file)
                }
            }
        }
        return nil
    }

    /// Returns the path of a file in a folder.
    static func path(_ name: String, in folder: String) -> String {
        folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
    }

    private static func file(
        _ name: String, in folder: String, _ tables: MigrationTables
    ) throws -> MigrationFile? {
        guard !name.hasPrefix("."), !name.hasSuffix("_test.lua") else { return nil }
        let path = path(name, in: folder)
        let digits = name.prefix { ("0"..."9").contains($0) }
        let rest = name.dropFirst(digits.count)
        guard !digits.isEmpty, rest.hasPrefix("_"), rest.hasSuffix(".lua"), rest != "_.lua" else {
            guard let proposal = properName(name) ?? missingNumber(name, path) else { return nil }
            throw StoreError(
                .invalidArgument,
                "'\(path)' is not named like a migration",
                advice: "rename it to \(proposal), or move it to a subfolder")
        }
        guard let number = Int(digits), number > 0, number < 1 << 50 else {
            throw StoreError(
                .invalidArgument,
                "'\(path)': migrations are numbered from 1, with at most 15 digits")
        }
        let source = try MigrationFile.source(of: path)
        return try MigrationFile(
            number: number, name: String(rest.dropFirst().dropLast(4)), path: path, source: source,
            tables.state,
            heading: tables.heading(path, source))
    }

    /// Returns the name that a numbered Lua file should have; nil for files that are not numbered, such as modules.
    ///
    /// A file is numbered if its name begins with a number, also after a word or sign that other tools use: `V2__x.lua`,
    /// `migration-2.lua`.
    private static func properName(_ name: String) -> String? {
        let lower = name.lowercased()
        guard lower.hasSuffix(".lua") else { return nil }
        func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }
        let head = lower.prefix { !isDigit($0) }
        let word = head.filter(\.isLetter)
        guard head.count < lower.count, ["", "v", "m", "migrate", "migration"].contains(word)
        else { return nil }
        let digits = lower.dropFirst(head.count).prefix(while: isDigit)
        let rest = lower.dropFirst(head.count + digits.count).dropLast(4)
        let words = rest.split { !$0.isLetter && !$0.isNumber }.joined(separator: "_")
        let padding = String(repeating: "0", count: max(0, 4 - digits.count))
        return "\(padding)\(digits)_\(words.isEmpty ? "what_it_does" : words).lua"
    }

    /// Returns the name that a file without a number should have if it returns a migration; nil for modules, which do not
    /// run before a migration loads them.
    private static func missingNumber(_ name: String, _ path: String) -> String? {
        guard name.lowercased().hasSuffix(".lua"), let source = try? MigrationFile.source(of: path)
        else { return nil }
        let table = ReturnedTable(of: String(decoding: source, as: UTF8.self))
        let keys = Set(table?.fields.map(\.name) ?? [])
        let isMigration =
            !keys.isDisjoint(with: ["schema", "changes"]) && keys.isSubset(of: MigrationScript.keys)
        return isMigration ? "NNNN_\(name.lowercased()), with the next number" : nil
    }
}
