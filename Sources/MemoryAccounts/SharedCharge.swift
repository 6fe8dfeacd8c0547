/// The memory of a value that is built step by step, charged until the last reference to this object is released.
///
/// Values of Swift that are copied share it.
package final class SharedCharge {
    private var charge = MemoryCharge()
    private var bytes = 0
    private static let step = 64 << 10

    /// Creates a charge of 0 bytes to the account of the calling thread's script.
    package init() {}

    /// Adds bytes before they are allocated; evaluates the number only if there is an account.
    ///
    /// Throws if the account does not have enough bytes left.
    package func add(_ more: @autoclosure () -> Int) throws(MemoryLimitReached) {
        guard charge.isLimited else { return }
        bytes += more()
        if bytes > charge.bytes { try charge.set(bytes + Self.step) }
    }
}
