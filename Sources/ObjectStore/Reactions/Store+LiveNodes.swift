import ColumnStorage

extension Store {
    /// Returns a node at the current version; reactions with equal reads share it.
    ///
    /// Creating a node reads all objects of its query; later, a commit takes time in proportion to the touched objects.
    private func node(_ key: LiveNodeKey, _ make: () throws -> LiveNode) throws -> LiveNodeHold {
        if let known = liveNodes.find(key) {
            notifications.serveNow(known.node)
            if known.node.isActive { return known }
        }
        let node = try make()
        try node.start(in: view)
        notifications.enter(node, seen: version)
        let hold = LiveNodeHold(node)
        liveNodes.insert(hold, key)
        return hold
    }

    /// Returns an aggregate and records its read; nil if no reads are tracked.
    func trackedAggregate(
        _ kind: AggregateKind, _ path: String?, of query: Query,
        _ classSchema: () throws -> ClassSchema
    ) throws -> Value? {
        guard let reader else { return nil }
        let key = LiveNodeKey(query: query.identity, kind: .aggregate(kind, path))
        let hold = try node(key) {
            let query = try query.followed(to: view.schema)
            let rule = try AggregateRule(
                kind, path, class: try classSchema(), schema: view.schema)
            return LiveNode(query, rule, dispatcher: notifications)
        }
        reader.noteRead(of: self, hold, key)
        return hold.node.value
    }

    /// If reads are tracked, records a read of the objects of a query and their order, and with a path, of its values.
    func noteRead(of query: Query, path: String? = nil) throws {
        guard let reader else { return }
        let key = LiveNodeKey(query: query.identity, kind: path.map { .values($0) } ?? .rows)
        let hold = try node(key) {
            LiveNode(
                try query.followed(to: view.schema), path: path, dispatcher: notifications)
        }
        reader.noteRead(of: self, hold, key)
    }
}
