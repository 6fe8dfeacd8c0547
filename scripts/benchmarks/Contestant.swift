/// What each measured store does.
///
/// A method is one timed step as a whole, so that the protocol costs nothing inside the loops.
/// Returned numbers are compared between the contestants.
protocol Contestant: Committer {
    /// The column's title.
    var name: String { get }

    /// Whether the store can be opened this way; a workload skips contestants that cannot.
    func supports(_ durability: Durability) -> Bool
    /// Opens or creates the store in a folder.
    func open(folder: String, _ durability: Durability) throws
    /// Closes what `open` opened; the folder then holds the whole data.
    func close() throws

    /// Adds people in one transaction; returns the seconds it took without what only this program causes.
    func insert(_ people: People) throws -> Double
    /// Adds people in one transaction each.
    func insertEach(_ people: People) throws -> Double
    /// Sets the score of the k-th key to `base + k`, in one transaction each.
    func updateScores(of keys: [Int64], from base: Int) throws -> Double

    /// Iterates over all objects and adds up their ages.
    func sumOfAges() throws -> Int64
    /// Gets hold of objects, for `sumOfHeldAges`. Not timed.
    func hold(_ keys: [Int64]) throws
    /// Reads the age of each held object.
    func sumOfHeldAges() throws -> Int64
    /// Looks each object up by its primary key and reads its age.
    func sumOfAges(of keys: [Int64]) throws -> Int64
    /// Looks each object up by its primary key and reads its score. Not timed: checks updates.
    func sumOfScores(of keys: [Int64]) throws -> Double

    func countOlder(than age: Int64) throws -> Int
    func countOlder(than age: Int64, namePrefix: String) throws -> Int
    func sumOfActiveScores() throws -> Double

    /// Sorts everything by score; returns the keys of the first hundred and of the last one.
    func keysByScore() throws -> [Int64]
    /// The keys of the first hundred by score.
    func firstKeysByScore() throws -> [Int64]

    /// Deletes by a query, in one transaction; returns how many.
    func deleteYounger(than age: Int64) throws -> Int

    /// Adds a pet for each person there is, which links to it.
    func insertPets() throws
    /// Adds a club whose list holds each person there is.
    func insertClub() throws
    /// Observes from another thread; nil where the store has no such thing.
    ///
    /// `called` runs on that thread when the changes of a commit are known there, with the number of
    /// rows that entered, left, moved or were modified. `isRemote`: another process commits.
    func observe(
        _ observed: Observed, isRemote: Bool,
        called: @escaping @Sendable (_ changedRows: Int) -> Void
    ) throws -> (any Observation)?
    /// Observes as many things as there are keys from the thread that writes: by turns one of these
    /// people, and the people of one age. Then sets the score of the first person in one transaction
    /// each, and lets its observer be called after each; returns the seconds of that. Nil where the
    /// store has no observers.
    func updateObserved(_ keys: [Int64], commits: Int) throws -> Double?
}

/// When a commit counts as done.
enum Durability: Sendable {
    /// On disk when the commit returns.
    case full
    /// On disk soon after; only Moonpool offers it.
    case soonAfter
    /// Never flushed on purpose.
    case never
}

/// Something went wrong in a contestant; the run ends with it.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
