import ColumnStorage
import Testing

@testable import ObjectStore

/// The labels that keep the order of the elements of observed lists.
@Suite struct WindowedRowsTests {
    private let world: ObservedWorld
    private let holder: LiveObject
    private let list: LiveList
    private var store: Store { world.store }

    init() throws {
        world = try ObservedWorld()
        // The targets 0 to 9, whose values are their numbers.
        holder = try world.holder()
        list = try holder.list("targets")
        world.stores.settle()
    }

    private func target(_ number: Int64) throws -> Value {
        .object(try world.object(number, of: "Target").reference)
    }

    /// Observes results; the function returns the rows that the reports lead to.
    private func observe(
        _ results: Results
    ) throws -> (token: NotificationToken, rows: () -> [ObjectKey]) {
        var keys: [ObjectKey] = []
        let token = try results.observe { change in
            if case .initial = change.kind { keys = try results.keys().array }
            for position in change.deletions.reversed() { keys.remove(at: position) }
            for (position, object) in zip(change.insertions, change.insertedObjects) {
                keys.insert(object.key, at: position)
            }
        }
        world.stores.settle()
        return (token, { keys })
    }

    @Test func `many single insertions at the same position stay in order`() throws {
        let results = try Results(list).filtered("value < 5").sorted([("value2", true)])
        let (token, rows) = try observe(results)
        for round in 0..<120 {
            let index = [0, 5, 5 + round, 7][round % 4]
            try store.write { try list.insert(target(Int64(round % 8)), at: index) }
            world.stores.settle()
            #expect(try rows() == results.keys().array)
        }
        token.invalidate()
    }

    @Test func `labels between elements are reassigned when none is left`() throws {
        var random = SplitMix(seed: 4)
        let shadow = try Results(list).filtered("value >= 0")
        let (token, rows) = try observe(shadow)
        // Each insertion is between the two latest elements, so it halves the gap.
        var index = 5
        for round in 0..<80 {
            index += round % 2
            try store.write {
                try list.insert(target(.random(in: 0..<10, using: &random)), at: index)
            }
            world.stores.settle()
        }
        #expect(try rows() == shadow.keys().array)
        token.invalidate()
    }
}
