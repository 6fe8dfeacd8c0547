/// Objects outside of a store that refer to each other, possibly in circles.
package protocol ObjectGraph<Node> {
    /// The identity of an object in the graph.
    associatedtype Node: Hashable

    /// Returns the class that the object of a node gets in the store.
    func classSchema(of node: Node) throws -> ClassSchema
    /// Returns the nodes to which a node links, directly or through embedded objects and collections.
    func links(of node: Node) throws -> [Node]
    /// Returns the values of the properties that can hold links, or those of all others, by name or in schema order.
    ///
    /// When the former are requested, all objects of the graph exist.
    func values(of node: Node, in classSchema: ClassSchema, holdingLinks: Bool) throws -> Value
}

/// The creation of a graph of objects: creates each, nearest to the root first, with the values that hold no links, and
/// then sets the links.
///
/// The creation can continue with other roots, whose graphs may share nodes.
package final class GraphCreation<Node: Hashable> {
    private let writer: ObjectWriter
    private let mode: UpdateMode
    /// The objects that were created or updated.
    package private(set) var references: [Node: ObjectReference] = [:]

    init(_ writer: ObjectWriter, _ mode: UpdateMode) {
        self.writer = writer
        self.mode = mode
    }

    /// Prepares a creation in the open write; throws `not_in_write` outside of one.
    package init(in store: Store, _ mode: UpdateMode) throws {
        writer = try store.writer(changing: "the store")
        self.mode = mode
    }

    /// Creates or updates the object of a root and those to which it leads.
    ///
    /// A linked object without a primary key is always created; so is the root if it `isNew`. Throws the errors of
    /// ``Store/create(_:_:mode:)``.
    package func create(
        _ root: Node, as classSchema: ClassSchema, isNew: Bool = false,
        in graph: some ObjectGraph<Node>
    ) throws -> ObjectReference {
        if !isNew { try writer.store.checkTopLevel(classSchema) }
        var members = [(node: root, classSchema: classSchema)]
        var found: Set = [root]
        var next = 0
        while next < members.count {
            let (node, classSchema) = members[next]
            let isUpdatable = next == 0 && !isNew || classSchema.primaryKeyPosition != nil
            let key = try ObjectCreation(writer, mode: isUpdatable ? mode : .error).create(
                classSchema, graph.values(of: node, in: classSchema, holdingLinks: false))
            references[node] = ObjectReference(table: classSchema.table, key: key)
            for linked in try graph.links(of: node)
            where references[linked] == nil && found.insert(linked).inserted {
                members.append((linked, try graph.classSchema(of: linked)))
            }
            next += 1
        }
        let completion = ObjectCreation(writer, mode: mode == .error ? .all : mode)
        for member in members {
            let values = try graph.values(
                of: member.node, in: member.classSchema, holdingLinks: true)
            guard !values.isEmptyCollection, let created = references[member.node] else { continue }
            try completion.update(created.key, member.classSchema, with: values)
        }
        // because: the root is the first member.
        return references[root]!
    }
}
