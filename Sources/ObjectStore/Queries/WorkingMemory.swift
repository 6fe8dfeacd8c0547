import ColumnStorage
import MemoryAccounts

/// The memory that the evaluation of a query needs only while it runs, charged to the account of the script.
///
/// An evaluation cannot throw. If it is refused memory, it returns a wrong result, as it does after an interruption,
/// and `Interruption.check()` throws `limit_exceeded` before the result is used.
struct WorkingMemory: ~Copyable {
    private var charge = MemoryCharge()

    /// Whether the script has a limit; without one, nothing needs to be counted.
    var isLimited: Bool { charge.isLimited }

    /// Charges bytes before they are allocated, in place of those that were charged before.
    ///
    /// Returns false if the evaluation must stop.
    mutating func grants(_ bytes: @autoclosure () -> Int) -> Bool {
        guard charge.isLimited else { return true }
        let bytes = bytes()
        guard bytes > charge.bytes else { return true }
        guard let interruption = Interruption.current else {
            charge.record(bytes)
            return true
        }
        do {
            try charge.set(bytes)
            return true
        } catch {
            interruption.giveUp(error)
            return false
        }
    }
}

/// The memory of a set or a dictionary of values that grows while a query is evaluated.
struct ScalarMemory: ~Copyable {
    private var memory = WorkingMemory()
    private var bytes = 0
    private var asked = 0

    /// The bytes that an element takes in a hash table that is half full, while its elements move to a larger one.
    private static let memoryOfElement = 6 * MemoryLayout<Scalar>.stride
    private static let step = 256 << 10

    /// Counts another value; returns false if the evaluation must stop.
    mutating func grants(_ value: Scalar) -> Bool {
        guard memory.isLimited else { return true }
        bytes += Self.memoryOfElement
        bytes += value.textMemory
        guard bytes - asked >= Self.step else { return true }
        asked = bytes
        return memory.grants(bytes)
    }
}

extension Scalar {
    /// The bytes that the text of the value takes besides the value itself.
    var textMemory: Int { if case .bytes(let text) = self { 48 + text.count } else { 0 } }
}
