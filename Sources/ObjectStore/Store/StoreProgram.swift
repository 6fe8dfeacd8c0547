import ColumnStorage

/// A program that has a store's file open.
package struct StoreProgram: Hashable, Sendable {
    /// The number of the process.
    package let process: Int32
    /// The name of the program; nil if it is not known.
    package let command: String?
    /// The versions of the schemas of its stores, in ascending order.
    ///
    /// None for a program that cannot write the file, for one of another user or container, and for an earlier build.
    package let schemaVersions: [UInt64]
}

extension Store {
    /// Returns the other processes that have the file open, in the order of their numbers; none for a store in memory.
    ///
    /// Takes a few system calls for each process. Throws `closed`, `wrong_thread`.
    package func otherPrograms() throws -> [StoreProgram] {
        try check()
        return try StoreError.wrapping(view.snapshot.file.otherUsers()).map {
            StoreProgram(
                process: $0.process, command: $0.program, schemaVersions: $0.marks.sorted())
        }
    }
}
