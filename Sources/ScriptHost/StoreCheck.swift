import ObjectStore

/// Looks at every part of a store's file, for `moonpool check`.
public struct StoreCheck {
    /// What is wrong and where, one line each; empty for a sound file.
    public let faults: [String]
    /// How many classes there are.
    public let classCount: Int
    /// How many objects there are.
    public let objectCount: Int

    /// Opens a file for reading and looks at it.
    ///
    /// Others may use the file meanwhile: one version is looked at. Throws what opening throws, such as
    /// `file_corrupt` for a file too damaged to open.
    public init(path: String) throws {
        let store = try Store(
            StoreConfiguration(.file(path), isReadOnly: true), scheduler: NoScheduler())
        defer { store.close() }
        faults = try store.verify().map(\.description)
        let classes = store.schema.classes
        classCount = classes.count
        objectCount = try classes.reduce(0) {
            try $0 + Results(.store(store), all: $1).count()
        }
    }
}

/// A thread without an event loop.
private struct NoScheduler: Scheduler {
    private struct NoWakeup: Wakeup {
        func wake() {}
        func cancel() {}
    }

    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { NoWakeup() }
    var isOnThread: Bool { true }
    func isSame(as other: any Scheduler) -> Bool { other is NoScheduler }
    var canDeliver: Bool { false }
}
