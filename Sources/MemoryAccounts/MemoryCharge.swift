/// Bytes that are charged to an account for as long as this value lives.
///
/// Belongs to what takes the memory, which may live on any thread.
package struct MemoryCharge: ~Copyable, Sendable {
    private let account: MemoryAccount?
    /// How many bytes are charged; 0 without an account.
    package private(set) var bytes = 0

    /// Charges nothing yet; without an account it never does.
    package init(_ account: MemoryAccount? = .current) { self.account = account }

    /// Charges bytes that are about to be allocated.
    ///
    /// Throws if the account does not have them.
    package init(
        _ bytes: Int, to account: MemoryAccount? = .current
    ) throws(MemoryLimitReached) {
        self.account = account
        guard let account else { return }
        try account.charge(bytes)
        self.bytes = bytes
    }

    /// Charges bytes that cannot be refused; computes them only if there is an account.
    package init(recording bytes: @autoclosure () -> Int, to account: MemoryAccount? = .current) {
        self.account = account
        guard let account else { return }
        let bytes = bytes()
        account.record(bytes)
        self.bytes = bytes
    }

    /// Whether anything is limited.
    package var isLimited: Bool { account != nil }

    /// Charges more bytes, or returns some, so that there are `wanted`.
    ///
    /// Throws, and changes nothing, if the account does not have them.
    package mutating func set(_ wanted: Int) throws(MemoryLimitReached) {
        guard let account else { return }
        if wanted > bytes {
            try account.charge(wanted - bytes)
        } else {
            account.release(bytes - wanted)
        }
        bytes = wanted
    }

    /// The same where it cannot be refused.
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
