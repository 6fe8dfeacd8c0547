/// A script on another thread.
package protocol RemoteScript: Sendable {
    /// Runs a job on the script's thread, between its callbacks; returns false if the script has ended.
    @discardableResult  // because a job of an ended script is not needed
    func post(_ job: @escaping @Sendable (StoreModule) -> Void) -> Bool
}
