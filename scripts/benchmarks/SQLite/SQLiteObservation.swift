import CSQLite
import Synchronization

/// Finds the changes of a query's result as an application over SQLite does: after a commit it runs the query again on its
/// own connection, and compares the rows with the previous ones.
final class SQLiteObservation: Observation, Sendable {
    private let signal = Signal()
    private let thread: Thread

    /// Returns nil for subjects that have no table.
    init?(path: String, observed: Observed, called: @escaping @Sendable (Int) -> Void) {
        guard let text = Self.text(observed) else { return nil }
        let isSorted = if case .olderByScore = observed { true } else { false }
        let ready = Signal()
        thread = Thread { [signal] in
            guard let database = try? SQLiteDatabase(path: path, .never),
                let query = try? database.prepare(text)
            else { fatalError("sqlite: the observer cannot open \(path)") }
            var rows = Self.rows(query)
            ready.raise()
            while signal.wait() {
                let newer = Self.rows(query)
                called(
                    isSorted ? Self.movedRows(rows, newer) : Self.differences(rows, newer))
                rows = newer
            }
        }
        _ = ready.wait()
    }

    private static func text(_ observed: Observed) -> String? {
        switch observed {
        case .older(let age):
            "SELECT id, age, score FROM person WHERE age > \(age) ORDER BY id"
        case .olderByScore(let age):
            "SELECT id, age, score FROM person WHERE age > \(age) ORDER BY score, id"
        case .petsOfOlder(let age):
            """
            SELECT pet.id, person.age, person.score FROM pet JOIN person ON person.id = pet.owner
            WHERE person.age > \(age) ORDER BY pet.id
            """
        case .club: nil
        }
    }

    func wake() { signal.raise() }

    func end() {
        signal.close()
        thread.join()
    }

    private struct Row: Equatable {
        var id: Int64
        var age: Int64
        var score: Double
    }

    private static func rows(_ query: SQLiteStatement) -> [Row] {
        var rows: [Row] = []
        while (try? query.next()) == true {
            rows.append(
                Row(
                    id: sqlite3_column_int64(query.handle, 0),
                    age: sqlite3_column_int64(query.handle, 1),
                    score: sqlite3_column_double(query.handle, 2)))
        }
        return rows
    }

    /// Merges two row lists in key order.
    ///
    /// Counts rows that were inserted, deleted or changed.
    private static func differences(_ old: [Row], _ new: [Row]) -> Int {
        var differences = 0
        var before = 0
        var after = 0
        while before < old.count && after < new.count {
            if old[before].id == new[after].id {
                if old[before] != new[after] { differences += 1 }
                before += 1
                after += 1
            } else {
                differences += 1
                if old[before].id < new[after].id { before += 1 } else { after += 1 }
            }
        }
        return differences + (old.count - before) + (new.count - after)
    }

    /// Returns 1 if anything differs between the common start and the common end of both lists: each commit of the
    /// benchmark moves one row.
    private static func movedRows(_ old: [Row], _ new: [Row]) -> Int {
        var first = 0
        while first < min(old.count, new.count), old[first] == new[first] { first += 1 }
        var last = 0
        while last < min(old.count, new.count) - first,
            old[old.count - last - 1] == new[new.count - last - 1]
        {
            last += 1
        }
        return first + last < max(old.count, new.count) ? 1 : 0
    }
}
