/// Bytes that are charged to an account while this value exists.
///
/// Store it in the owner of the memory, on any thread.
package struct MemoryCharge: ~Copyable, Sendable {
    private let account: MemoryAccount?
    /// The number of charged bytes; 0 without an account.
    package private(set) var bytes = 0

    /// Creates a charge of 0 bytes; without an account, it never charges bytes.
    package init(_ account: MemoryAccount? = .current) { self.account = account }

    /// Charges bytes before they are allocated.
    ///
    /// Throws if the account does not have enough bytes left.
    package init(
        _ bytes: Int, to account: MemoryAccount? = .current
    ) throws(MemoryLimitReached) {
        self.account = account
        guard let account else { return }
        try account.charge(bytes)
        self.bytes = bytes
    }

    /// Charges bytes that cannot be refused; evaluates the number only if there is an account.
    package init(recording bytes: @autoclosure () -> Int, to account: MemoryAccount? = .current) {
        self.account = account
        guard let account else { return }
        let bytes = bytes()
        account.record(bytes)
        self.bytes = bytes
    }

    /// Whether there is an account, and therefore a limit.
    package var isLimited: Bool { account != nil }

    /// Charges or releases bytes, so that `wanted` bytes are charged.
    ///
    /// Throws, without a change, if the account does not have enough bytes left.
    package mutating func set(_ wanted: Int) throws(MemoryLimitReached) {
        guard let account else { return }
        if wanted > bytes {
            try account.charge(wanted - bytes)
        } else {
            account.release(bytes - wanted)
        }
        bytes = wanted
    }

    /// Charges or releases bytes, so that `wanted` bytes are charged, even if this exceeds the capacity.
    package mutating func record(_ wanted: Int) {
        guard let account else { return }
        if wanted > bytes {
            account.record(wanted - bytes)
        } else {
            account.release(bytes - wanted)
        }
        bytes = wanted
    }

    deinit { if bytes != 0 { account?.release(bytes) } }
}
