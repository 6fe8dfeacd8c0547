/// The parent of a worker, for use on the worker's thread.
struct ParentLink: Sendable {
    /// The worker's name in the parent.
    let worker: String
    /// The number of the worker in its parent.
    let number: Int
    /// The parent script.
    let script: ScriptLink

    /// Runs a job on the parent's thread, between its callbacks.
    ///
    /// Returns false if the parent has ended.
    @discardableResult  // because the parent may have ended
    func post(_ job: @escaping @Sendable (ScriptContext) -> Void) -> Bool {
        script.postToScript(job)
    }
}
