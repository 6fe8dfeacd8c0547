/// The observers that have a pending report, or may have one.
///
/// Each knows its place in here, so that entering and leaving cost the same however many there are.
struct TrackedObservers {
    private var observers: [Observer] = []

    var isEmpty: Bool { observers.isEmpty }

    /// All of them, in the order of their registration.
    var inOrder: [Observer] {
        // Most often there is one, and even that would be copied to be sorted.
        observers.count == 1 ? observers : observers.sorted { $0.number < $1.number }
    }

    /// Whether there is one that is like this.
    func contains(where isMeant: (Observer) -> Bool) -> Bool { observers.contains(where: isMeant) }

    /// Adds an observer that is not in here.
    mutating func insert(_ observer: Observer) {
        observer.place = observers.count
        observers.append(observer)
    }

    /// Takes an observer out, if it is in here; the last one takes its place.
    mutating func remove(_ observer: Observer) {
        guard let place = observer.place else { return }
        observer.place = nil
        let last = observers.removeLast()
        guard last !== observer else { return }
        last.place = place
        observers[place] = last
    }
}
