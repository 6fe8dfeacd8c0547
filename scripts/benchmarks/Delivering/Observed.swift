/// The subject of the observer in a latency row.
enum Observed: Hashable, Sendable {
    /// The people older than an age, in the order of their creation.
    case older(than: Int64)
    /// The same people in the order of their scores.
    case olderByScore(than: Int64)
    /// The pets whose owner is older than an age.
    case petsOfOlder(than: Int64)
    /// The list of the only club, which contains all people.
    case club
}

/// A running observer.
///
/// `end` returns when its thread has ended.
protocol Observation: AnyObject {
    func end() throws
}
