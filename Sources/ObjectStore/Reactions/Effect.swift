/// Code that runs immediately, and again after each commit that changes data that it has read.
///
/// The code runs once for each commit. Effects that are created while the code runs belong to the effect and end before
/// it runs again. The effect lasts until ``dispose()``, or until its dependencies can no longer change. An effect is
/// confined to the thread of the stores.
package final class Effect: Reaction {
    private var body: (() throws -> Void)?
    private let report: (any Error) -> Void
    /// Called once after the effect has ended.
    package var endHandler: (() -> Void)?

    /// Creates an effect and runs its code.
    ///
    /// `report` receives the errors of later runs. Throws the error of the first run; the effect has then ended.
    package init(
        in scope: ReadScope, report: @escaping (any Error) -> Void,
        _ body: @escaping () throws -> Void
    ) throws {
        self.report = report
        self.body = body
        super.init(scope)
        scope.reaction?.adopt(self)
        do {
            try run()
        } catch {
            dispose()
            throw error
        }
        if !hasDependencies { dispose() }
    }

    private func run() throws {
        guard let body else { return }
        endChildren()
        let watch = Stopwatch()
        defer { statistics.handling.add(watch.microseconds) }
        try record(body)
    }

    override func didChange() -> Observer.Call? {
        guard !isDisposed, !isRunning else { return nil }
        return { [weak self] in
            guard let self, !isDisposed else { return }
            do { try run() } catch { report(error) }
            if !hasDependencies { dispose() }
        }
    }

    override func didLoseDependencies() { dispose() }

    package override func dispose() {
        guard !isDisposed else { return }
        super.dispose()
        body = nil
        let handler = endHandler
        endHandler = nil
        handler?()
    }
}
