import ObjectStore

/// The permissions of a script for the stores that it opens.
///
/// The `files` of the script's state determine which files the script can open.
package struct StoreRights: Sendable, Equatable {
    /// Whether files are opened read-only regardless of the script's options.
    ///
    /// In-memory stores are not restricted.
    package var isReadOnly = false
    /// The prefix for names of in-memory stores.
    ///
    /// A script with its own prefix does not share in-memory stores with other scripts.
    package var memoryPrefix = ""
    /// The maximum size of each file that the script opens, in bytes; nil for the store's own limit.
    package var maximumSize: Int?
    /// The maximum number of open stores; nil without a limit.
    package var maximumCount: Int?

    /// Creates unrestricted permissions.
    package init() {}

    /// Applies the permissions to a configuration.
    func limit(_ configuration: inout StoreConfiguration) {
        guard case .file = configuration.location else { return }
        if isReadOnly { configuration.isReadOnly = true }
        if let maximumSize {
            configuration.maximumSize = min(configuration.maximumSize ?? maximumSize, maximumSize)
        }
    }

    /// Throws `limit_exceeded` if the script has reached the maximum number of open stores.
    func checkCount(_ openStores: Int) throws(StoreError) {
        if let maximumCount, openStores >= maximumCount {
            throw StoreError(
                .limitExceeded, "this script can have at most \(maximumCount) stores open")
        }
    }
}
