/// A pass over a file that limits the work, so that it ends even for a damaged file.
///
/// Read each class, and each value of its rows, once in a pass; create another pass to read them again.
package final class RealmPass {
    private let file: RealmFile
    private let reader: NodeReader

    init(_ file: RealmFile) {
        self.file = file
        reader = file.makeReader()
    }

    /// Reads the rows of a class in ascending order of object keys.
    ///
    /// `properties` are the indexes of the properties to read, nil for all; `backlinks` also reads the origins of
    /// links. Throws `damaged`, and the errors of `body`.
    package func read(
        _ realmClass: RealmClass, properties: [Int]? = nil, backlinks: Bool = false,
        _ body: (RealmRows) throws -> Void
    ) throws {
        guard realmClass.rows != 0 else { return }
        let rows = RealmRows(
            file, reader: reader, of: realmClass, properties: properties, backlinks: backlinks)
        var isInBody = false
        var found = 0
        func handOver(_ rows: RealmRows) throws {
            found += rows.count
            isInBody = true
            try body(rows)
            isInBody = false
        }
        do {
            if realmClass.isOld {
                try rows.readOld(properties, backlinks: backlinks, handOver)
            } else {
                try reader.forEachCluster(
                    realmClass.rows,
                    onDamage: { error in
                        guard !isInBody else { throw error }
                        try file.tolerate(error, realmClass.name)
                    }
                ) { cluster in
                    try rows.fill(cluster)
                    try handOver(rows)
                    reader.bytes.trim()
                }
            }
            if found != realmClass.count {
                throw RealmFileError.damaged(
                    "the class declares \(realmClass.count) objects, but has \(found)")
            }
        } catch {
            guard !isInBody else { throw error }
            try file.tolerate(error, realmClass.name)
            if found < realmClass.count {
                file.recordLost(values: 0, objects: realmClass.count - found)
            }
        }
    }
}

/// Looks up rows by object key, for links from objects that a pass reads.
///
/// Keeps up to 512 groups of rows, so that objects that were created together are found quickly.
package final class RealmLookup {
    private static let capacity = 512
    /// The class.
    package let realmClass: RealmClass
    private let file: RealmFile
    private let reader: NodeReader
    private var groups: [Int: RealmRows] = [:]
    private var last: RealmRows?
    private var generation: Int

    /// Creates a lookup for a class of a file of format 10 or later.
    package init(_ file: RealmFile, _ realmClass: RealmClass) {
        self.file = file
        self.realmClass = realmClass
        reader = file.makeReader()
        generation = file.bytes.generation
    }

    /// Returns the rows that contain an object, and its index in these rows; nil if the object does not exist.
    package func find(_ key: Int64) throws -> (rows: RealmRows, row: Int)? {
        guard realmClass.rows != 0, !realmClass.isOld else { return nil }
        if generation != file.bytes.generation {
            groups.removeAll(keepingCapacity: true)
            last = nil
            generation = file.bytes.generation
        }
        if let last, let row = last.row(withKey: key) { return (last, row) }
        do {
            // Rows that are read again because their group was dropped do not count as damage.
            let budget = reader.budget
            defer { reader.budget = budget }
            guard let cluster = try reader.cluster(holding: key, in: realmClass.rows) else {
                return nil
            }
            let rows: RealmRows
            if let known = groups[cluster.node.address] {
                rows = known
            } else {
                if groups.count >= Self.capacity { groups.removeAll(keepingCapacity: true) }
                rows = RealmRows(
                    file, reader: reader, of: realmClass, properties: nil, backlinks: false)
                try rows.fill(cluster)
                groups[cluster.node.address] = rows
                assert(groups.count <= Self.capacity, "the lookup keeps at most its capacity")
            }
            last = rows
            return rows.row(withKey: key).map { (rows, $0) }
        } catch {
            try file.tolerate(error, realmClass.name)
            return nil
        }
    }
}
