/// What the observer of a latency row watches.
enum Observed: Hashable, Sendable {
    /// The people older than an age, in the order of their creation.
    case older(than: Int64)
    /// The same people in the order of their scores.
    case olderByScore(than: Int64)
    /// The pets whose owner is older than an age.
    case petsOfOlder(than: Int64)
    /// The list of all people that the only club has.
    case club
}

/// A running observer; `end` returns when its thread is gone.
protocol Observation: AnyObject {
    func end() throws
}
