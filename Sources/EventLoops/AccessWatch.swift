/// Tells the loop that somebody read from a file or closed it: how processes that have the same file open call each other.
///
/// Reading a byte is the cheapest call there is: it needs no right to write and, but for the time of the last access, leaves
/// nothing to be written to the disk. Processes that are killed close what they had open, so whoever waits for a call of
/// theirs hears of their end.
///
/// Many accesses before the next turn make one call of the handler, which means "look". The accesses of this process count as
/// well, those through a memory map do not. Does not keep the loop alive. On the loop's thread. Linux only.
package final class AccessWatch {
    private let reports: AccessReports
    private let wakeup: LoopWakeup

    /// The watched file.
    package let path: String

    /// Starts watching; fails when the file does not exist or the system has no watches left.
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

    /// Stops watching; does nothing the second time or after the loop's end.
    package func cancel() {
        wakeup.cancel()
        reports.remove(wakeup)
    }
}
