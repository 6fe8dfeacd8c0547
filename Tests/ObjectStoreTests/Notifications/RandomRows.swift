import ColumnStorage

@testable import ObjectStore

/// A query of any kind over the class `Obj` of an ``ObservedWorld``: bases, predicates, orders, limits.
struct RandomRows {
    private static let predicates = [
        "", "value > 3 and value < 15", "link.value > 4", "link == nil or value < 9",
        "link.link.value < 5", "any targets.value > 6", "targets.@count > 1", "text beginswith 'a'",
        "linkings.@count > 0", "second.value == link.value", "targets.@sum.value > 10",
        "all targets.value > 2", "subquery(targets, $t, $t.value > 5).@count > 1",
        "@links.Linking.link.value > 5",
    ]
    private static let sorts: [[(path: String, ascending: Bool)]] = [
        [], [("value", true)], [("value", false), ("text", true)], [("link.value", true)],
        [("link.link.value", false), ("value", true)],
    ]

    let query: Query
    let description: String
    /// Whether the query has a limit.
    let isLimited: Bool

    init(_ world: ObservedWorld, using random: inout SplitMix) throws {
        let store = world.store
        let schema = store.schema
        let obj = try schema.require("Obj")
        let text = Self.predicates.randomElement(using: &random)!
        var query = Query(all: obj)
        var description = ""
        if let base = try Self.base(world, using: &random) {
            query = Query(base, of: obj.table)
            description = "\(base) "
        }
        if !text.isEmpty { query = try query.filtered(text, [], schema: schema) }
        description += text
        func sort() throws {
            let sort = Self.sorts.randomElement(using: &random)!
            if !sort.isEmpty { query = try query.sorted(sort, schema: schema) }
            description += " sorted \(sort.map(\.path))"
        }
        try sort()
        switch Int.random(in: 0..<6, using: &random) {
        case 0: query = try query.distinct(["value"], schema: schema)
        case 1: query = try query.distinct(["link.value", "text"], schema: schema)
        default: break
        }
        if Int.random(in: 0..<4, using: &random) == 0 { try sort() }
        let limits = [0, 1, 3, 7, 100]
        var isLimited = false
        if Int.random(in: 0..<3, using: &random) == 0 {
            query = try query.limited(to: limits.randomElement(using: &random)!)
            isLimited = true
            while Int.random(in: 0..<2, using: &random) == 0 {
                switch Int.random(in: 0..<4, using: &random) {
                case 0: try sort()
                case 1: query = try query.distinct(["value"], schema: schema)
                case 2:
                    let text = Self.predicates.randomElement(using: &random)!
                    if !text.isEmpty { query = try query.filtered(text, [], schema: schema) }
                default: query = try query.limited(to: Int.random(in: 0...6, using: &random))
                }
            }
        }
        self.query = query
        self.description = description
        self.isLimited = isLimited
    }

    /// Backlinks through a link or a list, or a list or a set, of any existing object; nil for a whole class.
    private static func base(
        _ world: ObservedWorld, using random: inout SplitMix
    ) throws -> Query.Base? {
        let schema = world.store.schema
        let choices: [(className: String, owner: String, property: String)] = [
            ("Obj", "Target", "link"), ("Obj", "Target", "targets"),
            ("Holder", "Holder", "objects"),
            ("Holder", "Holder", "objects"), ("Bag", "Bag", "objects"),
            ("Bag", "Bag", "named"), ("Bag", "Bag", "named"),
        ]
        let number = Int.random(in: 0..<12, using: &random)
        guard choices.indices.contains(number) else { return nil }
        let choice = choices[number]
        let classSchema = try schema.require(choice.className)
        let column = try classSchema.requireProperty(choice.property).column
        let owners = Query(all: try schema.require(choice.owner))
        let owner = try QueryEvaluator.keys(of: owners, in: world.store.view).array
            .randomElement(using: &random)
        return owner.map {
            choice.owner == "Target"
                ? .backlinks(classSchema.table, column, $0) : .list(classSchema.table, column, $0)
        }
    }
}
