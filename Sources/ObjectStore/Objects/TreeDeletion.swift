import ColumnStorage

/// Deletes objects with everything that belongs to them, at any depth: the objects embedded in them, and the objects
/// that only they, directly or indirectly, own.
///
/// An owned object is deleted if no object outside of the deleted ones links to it, by any property. So objects that
/// link to each other in a ring are deleted together, and an object that another one uses stays, with everything to
/// which it links.
struct TreeDeletion {
    private let writer: ObjectWriter
    private let keepsOwned: Bool
    /// The schemas of the file: links of both count while a migration is started.
    private let schemas: [Schema]
    /// The roots, and the objects found from them, owners first.
    private var found: [ObjectReference] = []
    private var members: Set<ObjectReference> = []
    private var tables: Set<TableID> = []
    /// The found objects that another object uses.
    private var kept: Set<ObjectReference> = []

    /// Creates a deletion; with `keepsOwned`, only embedded objects are deleted with their owners.
    init(_ writer: ObjectWriter, keepsOwned: Bool = false) {
        self.writer = writer
        self.keepsOwned = keepsOwned
        schemas = writer.store.fileSchema.all
    }

    private var view: StoreView { writer.store.view }

    /// Deletes the roots that exist, and the objects that they own.
    mutating func delete(_ roots: [ObjectReference]) throws {
        assert(found.isEmpty, "a deletion runs once")
        defer { view.recordChange() }
        for root in roots { try add(root) }
        let rootCount = found.count
        try findTrees()
        assert(found.count == members.count, "each object is found once")
        if !keepsOwned { try keepUsed(from: rootCount) }
        // An owner is deleted before its objects, so its links need not be searched for them.
        for reference in found where !kept.contains(reference) {
            try StoreError.wrapping(writer.session.delete(reference.table, reference.key))
        }
    }

    /// Adds an object that exists; in a damaged file, a link may lead to none.
    private mutating func add(_ reference: ObjectReference) throws {
        guard try view.table(reference.table).isPresent(reference.key),
            members.insert(reference).inserted
        else { return }
        found.append(reference)
        tables.insert(reference.table)
    }

    private mutating func findTrees() throws {
        var next = 0
        while next < found.count {
            try StoreError.step()
            let owner = found[next]
            next += 1
            for schema in schemas {
                let properties =
                    keepsOwned
                    ? schema.embeddingProperties(of: owner.table)
                    : schema.owningProperties(of: owner.table)
                for property in properties {
                    for target in try targets(of: property, in: schema, owner) { try add(target) }
                }
            }
        }
    }

    /// Finds the owned objects that an object outside of the deletion uses, and all found objects that these use.
    private mutating func keepUsed(from rootCount: Int) throws {
        let roots = Set(found[..<rootCount])
        var pending: [ObjectReference] = []
        for reference in found[rootCount...] where try isUsedElsewhere(reference) {
            kept.insert(reference)
            pending.append(reference)
        }
        while let user = pending.popLast() {
            try StoreError.step()
            for target in try allTargets(of: user)
            where members.contains(target) && !roots.contains(target)
                && kept.insert(target).inserted
            {
                pending.append(target)
            }
        }
        assert(
            kept.isDisjoint(with: roots) && kept.isSubset(of: members),
            "only found objects are kept, and no root")
    }

    private func isUsedElsewhere(_ reference: ObjectReference) throws -> Bool {
        try StoreError.step()
        // Only the parent links to an embedded object.
        if schemas.contains(where: { $0.find(table: reference.table)?.isEmbedded == true }) {
            return false
        }
        func isOutside(_ key: ObjectKey, _ source: Schema.LinkSource) -> Bool {
            !members.contains(ObjectReference(table: source.classSchema.table, key: key))
        }
        for source in schemas.flatMap({ $0.links(to: reference.table) }) {
            let keys = try view.table(source.classSchema).sources(
                of: reference.key, through: source.property.column)
            if keys.contains(where: { isOutside($0, source) }) { return true }
        }
        for source in schemas.flatMap(\.mixedProperties) {
            let keys = try view.table(source.classSchema).holders(
                of: reference.key, in: reference.table, through: source.property.column)
            if keys.contains(where: { isOutside($0, source) }) { return true }
        }
        return false
    }

    private func targets(
        of property: Property, in schema: Schema, _ owner: ObjectReference
    ) throws -> [ObjectReference] {
        guard let target = schema.target(of: property)?.table else { return [] }
        return try EmbeddedWriter.keys(in: property, of: owner.key, view.table(owner.table)).map {
            ObjectReference(table: target, key: $0)
        }
    }

    /// Returns all objects to which an object links.
    private func allTargets(of user: ObjectReference) throws -> [ObjectReference] {
        let rows = try view.table(user.table)
        let properties = schemas.flatMap { schema in
            (schema.find(table: user.table)?.properties ?? []).map { (schema, $0) }
        }
        return try properties.flatMap { schema, property -> [ObjectReference] in
            switch property.type {
            case .object: try targets(of: property, in: schema, user)
            case .mixed:
                try tables.flatMap { table in
                    try rows.mixedTargets(user.key, in: table, through: property.column).map {
                        ObjectReference(table: table, key: $0)
                    }
                }
            default: []
            }
        }
    }
}
