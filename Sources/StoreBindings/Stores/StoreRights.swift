import ObjectStore

/// What a script may do with the stores that it opens itself.
///
/// Which files it may open is a matter of its state's `files`.
package struct StoreRights: Sendable, Equatable {
    /// Whether files are opened for reading only, whatever the script asks for; stores in memory are its own.
    package var isReadOnly = false
    /// What stands before the names of its stores in memory: with one of its own, it shares none with other scripts.
    package var memoryPrefix = ""
    /// The most bytes of each file that it opens; nil for the store's own limit.
    package var maximumSize: Int?
    /// How many stores it may have open at once; nil for any number.
    package var maximumCount: Int?

    /// All rights.
    package init() {}

    /// Makes a configuration what the script may have.
    func limit(_ configuration: inout StoreConfiguration) {
        guard case .file = configuration.location else { return }
        if isReadOnly { configuration.isReadOnly = true }
        if let maximumSize {
            configuration.maximumSize = min(configuration.maximumSize ?? maximumSize, maximumSize)
        }
    }

    /// Throws `limit_exceeded` when the script may open no more than the stores it has.
    func checkCount(_ openStores: Int) throws(StoreError) {
        if let maximumCount, openStores >= maximumCount {
            throw StoreError(
                .limitExceeded, "this script can open at most \(maximumCount) stores at once")
        }
    }
}
