/// The steps on plain values, up to the first limit or from one limit to the next: a condition, distinct values, an
/// order, and a limit.
struct ValueRules {
    private(set) var conditions: [ElementPredicate] = []
    private(set) var isDistinct = false
    /// How they are sorted by value; nil leaves them in the order of the collection.
    private(set) var ascending: Bool?
    private(set) var limit: Int?

    /// The steps in as few stages as have the same effect; at least one.
    static func stages(of steps: [CollectionValues.Step]) -> [ValueRules] {
        var stages = [ValueRules()]
        for step in steps where !stages[stages.count - 1].add(step) {
            // What was put in order once stays so.
            var next = ValueRules()
            next.ascending = stages[stages.count - 1].ascending
            _ = next.add(step)
            stages.append(next)
        }
        return stages
    }

    /// Adds a step; false if it has to be another stage's.
    private mutating func add(_ step: CollectionValues.Step) -> Bool {
        if let limit {
            guard case .limit(let count) = step else { return false }
            self.limit = min(limit, count)
            return true
        }
        switch step {
        case .filter(let condition):
            // Of values that are equal but of different types it matters which one is the first.
            if isDistinct { return false }
            conditions.append(condition)
        case .distinct: isDistinct = true
        // Equal values keep their order, so that a later order replaces an earlier one.
        case .sort(let ascending): self.ascending = ascending
        case .limit(let count): limit = count
        }
        return true
    }

    func admits(_ value: Value) -> Bool { conditions.allSatisfy { $0.matches(value) } }
}
