/// An error in a file, with its location.
package struct FileFault: Hashable, Sendable {
    /// The table; nil if the error concerns the whole file.
    package let table: TableID?
    /// The column; nil if the error concerns whole rows.
    package let column: ColumnID?
    /// The row; nil if the error does not concern a single row.
    package let key: ObjectKey?
    /// The description of the error.
    package let what: String

    init(_ what: String, table: TableID? = nil, column: ColumnID? = nil, key: ObjectKey? = nil) {
        self.table = table
        self.column = column
        self.key = key
        self.what = what
    }
}

/// The errors found so far, up to a limit.
final class FaultList {
    private(set) var faults: [FileFault] = []
    private let limit: Int

    init(_ limit: Int) { self.limit = limit }

    var isFull: Bool { faults.count >= limit }

    func add(_ fault: FileFault) { if !isFull { faults.append(fault) } }

    /// Runs a check, which ends at the first part of the file that it cannot read.
    ///
    /// That part is an error of its own, unless another check has found errors.
    func collect(_ check: () throws(StorageError) -> Void) throws(StorageError) {
        do throws(StorageError) { try check() } catch {
            guard error.code == .damaged, !error.isOfIndex else { throw error }
            if faults.isEmpty { add(FileFault(error.call)) }
        }
    }
}

/// The sum of a multiset of entries: equal multisets have equal sums, and different ones almost never do.
struct EntrySum: Equatable {
    private(set) var count = 0
    private var sum: UInt64 = 0

    mutating func add(_ value: UInt64, _ key: Int64) {
        count += 1
        var mixed = value &+ UInt64(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        sum &+= mixed ^ (mixed >> 31)
    }
}
