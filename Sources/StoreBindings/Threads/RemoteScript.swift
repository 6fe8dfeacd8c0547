/// A script on another thread.
package protocol RemoteScript: Sendable {
    /// Runs a job on the script's thread, between its callbacks; returns false if the script has ended.
    @discardableResult  // because a script that has ended has no use for a job
    func post(_ job: @escaping @Sendable (StoreModule) -> Void) -> Bool
}
