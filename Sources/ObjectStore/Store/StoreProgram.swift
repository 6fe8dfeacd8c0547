import ColumnStorage

/// A program that has a store's file open.
package struct StoreProgram: Hashable, Sendable {
    /// The number of the process.
    package let process: Int32
    /// The name of the program; nil if it is not known.
    package let command: String?
    /// The versions of the schemas of its stores, in ascending order.
    ///
    /// None for a program that cannot write the lock file, for one of another user or container, and for an earlier build.
    package let schemaVersions: [UInt64]
    /// Whether its stores can run the functions of a started migration.
    package let convertsObjects: Bool
}

extension Store {
    /// Returns the other processes that have the file open, in the order of their numbers; none for a store in memory.
    ///
    /// Takes a few system calls for each process. Throws `closed`, `wrong_thread`.
    package func otherPrograms() throws -> [StoreProgram] {
        try check()
        return try StoreError.wrapping(view.snapshot.file.otherUsers()).map {
            StoreProgram(
                process: $0.process, command: $0.program,
                schemaVersions: $0.marks.filter { $0 < Self.conversionMark }.sorted(),
                convertsObjects: !$0.marks.contains(Self.plainMark))
        }
    }

    /// The number that a process uses while it converts the objects of a started migration; greater than all versions.
    static let conversionMark: UInt64 = 1 << 59
    /// The number of a process with a writable store that cannot run the functions of a migration.
    static let plainMark: UInt64 = 1 << 59 + 1

    /// Returns whether all programs that write the file can run the functions of a migration.
    func areAllConverting() throws -> Bool {
        try StoreError.wrapping(view.snapshot.file.exclude(Self.plainMark, except: 0)) != nil
    }

    /// Returns the other process that converts the objects of a started migration; nil if there is none.
    package func convertingProgram() throws -> StoreProgram? {
        try check()
        return try StoreError.wrapping(view.snapshot.file.otherUsers())
            .first { $0.marks.contains(Self.conversionMark) }
            .map {
                StoreProgram(
                    process: $0.process, command: $0.program, schemaVersions: [],
                    convertsObjects: true)
            }
    }

    /// Ends the reservation of the conversion.
    package func endConversion() { (conversion, conversionRun) = (nil, nil) }

    /// Reserves the conversion of a started migration for this store, until it is closed or ends the reservation.
    ///
    /// Throws `invalid_argument` if another process converts.
    package func beginConversion() throws {
        guard conversion == nil else { return }
        conversion = try StoreError.wrapping(
            view.snapshot.file.exclude(Self.conversionMark, except: 0))
        guard conversion == nil else { return }
        let other = try convertingProgram()
        throw StoreError(
            .invalidArgument,
            "\(other.map { "process \($0.process)" } ?? "another thread of this process") already converts the "
                + "objects of \(title)")
    }
}
