/// The observers that have pending changes, or may have some.
///
/// Each observer stores its position in the array, so adding and removing one takes constant time.
struct TrackedObservers {
    private var observers: [Observer] = []

    var isEmpty: Bool { observers.isEmpty }

    /// All observers, in the order of their registration.
    var inOrder: [Observer] {
        // Usually there is one observer; sorting would copy the array.
        observers.count == 1 ? observers : observers.sorted { $0.number < $1.number }
    }

    /// Returns whether an observer satisfies a condition.
    func contains(where isMeant: (Observer) -> Bool) -> Bool { observers.contains(where: isMeant) }

    /// Adds an observer that is not in the collection.
    mutating func insert(_ observer: Observer) {
        observer.trackedIndex = observers.count
        observers.append(observer)
    }

    /// Removes an observer, if it is in the collection; the last one takes its position.
    mutating func remove(_ observer: Observer) {
        guard let index = observer.trackedIndex else { return }
        observer.trackedIndex = nil
        let last = observers.removeLast()
        guard last !== observer else { return }
        last.trackedIndex = index
        observers[index] = last
    }
}
