// The two kinds of trees: B+trees of elements by index, and cluster trees of rows by object key.

extension NodeReader {
    /// Calls `body` with the leaves of a B+tree in order; `body` returns the number of elements of the leaf.
    ///
    /// Returns the total number of elements. Throws `damaged` if the tree is inconsistent.
    @discardableResult  // because many callers do not need the number
    func forEachLeaf(
        _ root: Int64, depth: Int = 0, _ body: (Node) throws -> Int
    ) throws -> Int {
        try RealmFileError.require(depth < Self.maximumDepth, "the tree at \(root) is too deep")
        let node = try node(root)
        guard node.isInner else { return try body(node) }
        try node.require(node.hasReferences && node.count >= 2, "the tree node", "has no children")
        try take(elements: node.count)
        var total = 0
        for index in 1..<node.count - 1 {
            let (sum, overflow) = total.addingReportingOverflow(
                try forEachLeaf(node.int(index), depth: depth + 1, body))
            try RealmFileError.require(!overflow, "a tree has too many elements")
            total = sum
        }
        let expected = node.tagged(node.count - 1)
        try node.require(
            expected == Int64(total), "the tree",
            "has \(total) elements; its total says \(expected)")
        return total
    }

    /// Returns the addresses of the leaves of a B+tree, in order.
    func leaves(_ root: Int64) throws -> [Int64] {
        var found: [Int64] = []
        try collectLeaves(root, 0, &found)
        return found
    }

    private func collectLeaves(_ root: Int64, _ depth: Int, _ found: inout [Int64]) throws {
        try RealmFileError.require(depth < Self.maximumDepth, "the tree at \(root) is too deep")
        let node = try node(root)
        guard node.isInner else { return found.append(root) }
        try node.require(node.hasReferences && node.count >= 2, "the tree node", "has no children")
        for index in 1..<node.count - 1 {
            try collectLeaves(node.int(index), depth + 1, &found)
        }
    }
}

/// A leaf of a cluster tree: up to 256 rows with their columns.
struct Cluster {
    /// The maximum number of rows in a cluster.
    static let maximumCount = 256

    /// The node: slot 0 contains the keys, slot 1 + n the leaf of column n.
    let node: Node
    /// The object keys in ascending order.
    let keys: [Int64]

    /// Returns the address of a column's leaf.
    ///
    /// Throws `damaged` if the cluster does not have the column.
    func leaf(_ index: Int) throws -> Int64 {
        guard index + 1 < node.count, case let value = node.int(index + 1), value != 0,
            value & 1 == 0
        else {
            throw RealmFileError.damaged(
                "the rows at \(RealmFileError.hex(node.address)) have no column \(index)")
        }
        return value
    }
}

extension NodeReader {
    /// Calls `body` with the leaves of a cluster tree in ascending order of object keys.
    ///
    /// If `onDamage` returns after an error in a part of the tree, the traversal continues with the next part.
    func forEachCluster(
        _ root: Int64, onDamage: (any Error) throws -> Void = { throw $0 },
        _ body: (Cluster) throws -> Void
    ) throws {
        var last: Int64?
        try walkClusters(root, offset: 0, depth: 0, last: &last, onDamage, body)
    }

    private func walkClusters(
        _ reference: Int64, offset: Int64, depth: Int, last: inout Int64?,
        _ onDamage: (any Error) throws -> Void, _ body: (Cluster) throws -> Void
    ) throws {
        let inner: (children: Int, shift: Int64, keys: Int64)
        do {
            try RealmFileError.require(
                depth < Self.maximumDepth, "the rows at \(reference) are nested too deeply")
            let node = try references(reference, atLeast: 1)
            if !node.isInner {
                let cluster = try cluster(node, offset)
                if let first = cluster.keys.first {
                    if let last, first <= last {
                        throw RealmFileError.damaged("object key \(first) follows key \(last)")
                    }
                    last = cluster.keys.last
                }
                return try body(cluster)
            }
            inner = try innerCluster(node)
        } catch {
            return try onDamage(error)
        }
        for index in 0..<inner.children {
            // The body may have released decrypted pages, so the node is opened again for every child.
            let child: Int64
            let part: Int64
            do {
                child = try open(reference).int(index + 3)
                part = try childOffset(inner.keys, index, inner.shift)
            } catch {
                try onDamage(error)
                continue
            }
            try walkClusters(
                child, offset: offset &+ part, depth: depth + 1, last: &last, onDamage, body)
        }
    }

    /// Returns the number of children, the shift of keys by child, and the address of the keys of an inner node.
    private func innerCluster(_ node: Node) throws -> (children: Int, shift: Int64, keys: Int64) {
        let level = node.count > 1 ? node.tagged(1) : 0
        try node.require(
            node.count >= 3 && level >= 1 && level <= 7, "the inner node of rows", "is not valid")
        let children = node.count - 3
        let keys = node.int(0)
        if keys != 0 {
            let list = try integers(keys, atMost: Self.maximumLeafCount)
            try node.require(
                list.count == children, "\(children) children", "have \(list.count) keys")
        }
        return (children, 8 * level, keys)
    }

    private func childOffset(_ keys: Int64, _ index: Int, _ shift: Int64) throws -> Int64 {
        if keys == 0 { return Int64(index) << shift }
        let list = try open(keys)
        try RealmFileError.require(
            list.encoding == .integers && index < list.count, "a child of the rows has no key")
        return list.unsigned(index)
    }

    /// Returns the rows of a leaf.
    private func cluster(_ node: Node, _ offset: Int64) throws -> Cluster {
        let first = node.int(0)
        if first & 1 == 1 {
            let count = Node.untagged(first)
            try node.require(
                count >= 0 && count <= Int64(Cluster.maximumCount), "the leaf of rows",
                "claims \(count) rows; at most \(Cluster.maximumCount) are possible")
            return Cluster(node: node, keys: (0..<count).map { offset &+ $0 })
        }
        let list = try integers(first, atMost: Cluster.maximumCount)
        var keys = list.integers
        if list.count < keys.count { keys.removeLast(keys.count - list.count) }
        for index in keys.indices {
            if list.width >= 8, list.width < 64 { keys[index] &= (1 << Int64(list.width)) - 1 }
            keys[index] = offset &+ keys[index]
        }
        for (left, right) in zip(keys, keys.dropFirst()) where left >= right {
            throw RealmFileError.damaged("object key \(right) follows key \(left)")
        }
        return Cluster(node: node, keys: keys)
    }

    /// Returns the cluster whose range contains an object key.
    func cluster(holding key: Int64, in root: Int64) throws -> Cluster? {
        var reference = root
        var offset: Int64 = 0
        for _ in 0..<Self.maximumDepth {
            let node = try references(reference, atLeast: 1)
            guard node.isInner else { return try cluster(node, offset) }
            let inner = try innerCluster(node)
            // A binary search finds the last child whose offset is not greater than the key.
            var low = 0
            var high = inner.children
            while low < high {
                let middle = (low + high) / 2
                if try offset &+ childOffset(inner.keys, middle, inner.shift) <= key {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            guard low > 0 else { return nil }
            offset = try offset &+ childOffset(inner.keys, low - 1, inner.shift)
            reference = node.int(low + 2)
        }
        throw RealmFileError.damaged("the rows at \(root) are nested too deeply")
    }

    /// Returns the number of rows in the root of a cluster tree.
    func rowCount(_ root: Int64) throws -> Int {
        let node = try references(root, atLeast: 1)
        if node.isInner { return Int(clamping: node.tagged(2)) }
        return try cluster(node, 0).keys.count
    }
}
