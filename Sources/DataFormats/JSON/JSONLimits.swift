import MemoryAccounts

/// Limits for reading and writing JSON.
package enum JSONLimits {
    /// The maximum nesting depth of containers.
    package static let depth = 400
    /// The maximum size of the text of one value, in bytes.
    package static let size = 1 << 31

    /// The error of a value whose tape needs more memory than the script may take.
    static var memoryReached: MemoryLimitReached {
        MemoryLimitReached(limit: MemoryAccount.current?.limit ?? 0)
    }
}
