/// Notifies the loop when a process reads from a file or closes it.
///
/// Processes that have opened the same file notify each other this way.
///
/// Reading a byte is the cheapest signal available: it needs no write permission and, apart from the access time,
/// causes no disk writes. The kernel closes the files of a killed process, so a process that waits for a signal also
/// detects the end of the other process.
///
/// Several accesses before the next turn cause one call of the handler, which should check the file. Accesses of this
/// process count too; accesses through a memory map do not. A watch does not keep the loop alive. Use it on the loop's
/// thread. Linux only.
package final class AccessWatch {
    private let reports: AccessReports
    private let wakeup: LoopWakeup

    /// The watched file.
    package let path: String

    /// Starts watching.
    ///
    /// Throws if the file does not exist or the system has no watches left.
    package init(path: String, on loop: EventLoop, _ handler: @escaping () -> Void)
        throws(LoopError)
    {
        loop.preconditionOnLoop()
        self.path = path
        reports = try AccessReports.of(loop)
        wakeup = loop.makeWakeup(handler)
        do {
            try reports.add(wakeup, path)
        } catch {
            wakeup.cancel()
            throw error
        }
    }

    deinit { cancel() }

    /// Stops watching.
    ///
    /// Idempotent; has no effect after the loop has ended.
    package func cancel() {
        wakeup.cancel()
        reports.remove(wakeup)
    }
}
