/// The steps on plain values, up to the first limit or from one limit to the next: a condition, distinct values, an
/// order, and a limit.
struct ValueRules {
    private(set) var conditions: [ElementPredicate] = []
    private(set) var isDistinct = false
    /// The direction of the order by value; nil keeps the order of the collection.
    private(set) var ascending: Bool?
    private(set) var limit: Int?

    /// Returns the steps in the fewest stages with the same effect; at least one.
    static func stages(of steps: [CollectionValues.Step]) -> [ValueRules] {
        var stages = [ValueRules()]
        for step in steps where !stages[stages.count - 1].add(step) {
            // Sorted values remain sorted in the next stages.
            var next = ValueRules()
            next.ascending = stages[stages.count - 1].ascending
            _ = next.add(step)
            stages.append(next)
        }
        return stages
    }

    /// Adds a step; returns false if the step needs a new stage.
    private mutating func add(_ step: CollectionValues.Step) -> Bool {
        if let limit {
            guard case .limit(let count) = step else { return false }
            self.limit = min(limit, count)
            return true
        }
        switch step {
        case .filter(let condition):
            // `distinct` keeps the first of equal values, so a later condition must not remove values before that step.
            if isDistinct { return false }
            conditions.append(condition)
        case .distinct: isDistinct = true
        // Equal values keep their order, so a later order replaces an earlier one.
        case .sort(let ascending): self.ascending = ascending
        case .limit(let count): limit = count
        }
        return true
    }

    func admits(_ value: Value) throws -> Bool {
        try conditions.allSatisfy { try $0.matches(value) }
    }
}
