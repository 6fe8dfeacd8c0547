#if os(Linux)

    /// The storage of the task-local values that the code on one stack binds.
    ///
    /// Outside of tasks, Swift keeps task-local values in the thread, where the innermost binding has to end first. The
    /// bindings of code on several stacks of a thread can end in any order. Therefore a task runs the code of each
    /// stack, and is suspended between the parts of the code. The task inherits no values.
    ///
    /// Running a part in the task takes half a microsecond longer.
    final class TaskLocalStorage: TaskExecutor, @unchecked Sendable {
        // Unchecked because: the stack belongs to one thread, on which all members are called. The task runs only on
        // this thread, because its executor is this object.
        private var task: Task<Void, Never>?
        private var job: UnownedJob?
        private var continuation: UnsafeContinuation<Void, Never>?
        private var part: (() -> Void)?
        private var isClosed = false

        init() {
            task = Task.detached(executorPreference: self) { await self.runParts() }
            runJob()
        }

        /// Runs a part of the code.
        func run(_ part: () -> Void) {
            withoutActuallyEscaping(part) { part in
                self.part = part
                resume()
            }
        }

        /// Whether the code has canceled its task, which affects only the code itself.
        var isCanceled: Bool { task?.isCancelled == true }

        /// Ends the task, which would otherwise keep the storage forever.
        func close() {
            isClosed = true
            resume()
        }

        func enqueue(_ job: consuming ExecutorJob) { self.job = UnownedJob(job) }

        private func runParts() async {
            while !isClosed {
                part?()
                part = nil
                await withUnsafeContinuation { continuation = $0 }
            }
        }

        private func resume() {
            continuation.take()?.resume()
            runJob()
        }

        private func runJob() {
            guard let job = job.take() else {
                preconditionFailure("only `run` and `close` resume the task of a stack")
            }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

#else

    /// Without fibers, code runs on the thread's own stack only, and binds its values in the thread.
    final class TaskLocalStorage {
        func run(_ part: () -> Void) { part() }
        var isCanceled: Bool { false }
        func close() {}
    }

#endif
