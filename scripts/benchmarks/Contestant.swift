/// The operations of each measured store.
///
/// A method is one complete timed step, so that the protocol adds no cost inside the loops. Returned numbers are
/// compared between the contestants.
protocol Contestant: Committer {
    /// The column's title.
    var name: String { get }

    /// Whether the store can be opened this way; a workload skips contestants that cannot.
    func supports(_ durability: Durability) -> Bool
    /// Opens or creates the store in a folder.
    func open(folder: String, _ durability: Durability) throws
    /// Closes the store; the folder then contains all data.
    func close() throws

    /// Adds people in one transaction. Returns the seconds that it took, without the overhead of this program.
    func insert(_ people: People) throws -> Double
    /// Adds people, each in its own transaction.
    func insertEach(_ people: People) throws -> Double
    /// Sets the score of the k-th key to `base + k`, each in its own transaction.
    func updateScores(of keys: [Int64], from base: Int) throws -> Double

    /// Iterates over all objects and sums their ages.
    func sumOfAges() throws -> Int64
    /// Fetches objects for `sumOfHeldAges`. Not timed.
    func hold(_ keys: [Int64]) throws
    /// Reads the age of each held object.
    func sumOfHeldAges() throws -> Int64
    /// Looks up each object by its primary key and reads its age.
    func sumOfAges(of keys: [Int64]) throws -> Int64
    /// Looks up each object by its primary key and reads its score. Not timed; verifies updates.
    func sumOfScores(of keys: [Int64]) throws -> Double

    func countOlder(than age: Int64) throws -> Int
    func countOlder(than age: Int64, namePrefix: String) throws -> Int
    func sumOfActiveScores() throws -> Double

    /// Sorts all objects by score. Returns the keys of the first hundred and of the last one.
    func keysByScore() throws -> [Int64]
    /// Returns the keys of the first hundred objects by score.
    func firstKeysByScore() throws -> [Int64]

    /// Deletes by a query in one transaction. Returns the number of deleted objects.
    func deleteYounger(than age: Int64) throws -> Int

    /// Adds a pet for each person, with a link to that person.
    func insertPets() throws
    /// Adds a club whose list contains each person.
    func insertClub() throws
    /// Observes from another thread; nil if the store has no observers.
    ///
    /// `called` runs on that thread when it has received the changes of a commit, with the number of rows that entered,
    /// left, moved or were modified. `isRemote`: another process commits.
    func observe(
        _ observed: Observed, isRemote: Bool,
        called: @escaping @Sendable (_ changedRows: Int) -> Void
    ) throws -> (any Observation)?
    /// Observes one subject per key from the writing thread, alternating between one of these people and the people of
    /// one age. Then sets the score of the first person in one transaction each, and delivers to its observer after
    /// each. Returns the duration in seconds, or nil if the store has no observers.
    func updateObserved(_ keys: [Int64], commits: Int) throws -> Double?
}

/// The state of a commit when it returns.
enum Durability: Sendable {
    /// The data is on disk.
    case full
    /// The data is on disk soon after; only Moonpool has this mode.
    case soonAfter
    /// The data is never flushed explicitly.
    case never
}

/// An error in a contestant, which ends the run.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
