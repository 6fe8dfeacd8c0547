/// The script that started a worker, as the worker's thread sees it.
struct ParentLink: Sendable {
    /// The worker's name in the parent.
    let worker: String
    /// The worker's number among those of its parent.
    let number: Int
    /// The parent.
    let script: ScriptLink

    /// Runs a job on the parent's thread, between its callbacks.
    ///
    /// False when the parent has ended.
    @discardableResult  // because no receiver may be left
    func post(_ job: @escaping @Sendable (ScriptContext) -> Void) -> Bool {
        script.postToScript(job)
    }
}
