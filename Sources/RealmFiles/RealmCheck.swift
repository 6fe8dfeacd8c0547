extension RealmFile {
    /// Checks the whole file: every value can be read, the object counts are correct, and links match backlinks.
    ///
    /// Returns a description of each error; empty for an intact file. Links and backlinks are compared by their numbers
    /// and by checksums of all pairs, so memory does not grow with the file.
    package func check(progress: (Int) throws -> Void = { _ in }) throws -> [String] {
        var faults: [String] = []
        var links: [LinkColumn: LinkSum] = [:]
        var backlinks: [LinkColumn: LinkSum] = [:]
        let pass = makePass()
        var done = 0
        for found in classes {
            do {
                let properties = found.properties.map { property in
                    property.type == .link || property.type == .mixed
                        || property.collection == .dictionary
                }
                try pass.read(found, backlinks: true) { rows in
                    for row in 0..<rows.count {
                        let key = rows.key(row)
                        for property in found.properties.indices {
                            let value = try rows.value(row, property)
                            guard properties[property] else { continue }
                            value.forEachLink { link in
                                let column = LinkColumn(
                                    origin: found.index, property: property, target: link.target)
                                links[column, default: LinkSum()].add(key, link.key)
                            }
                        }
                        for (index, backlink) in found.backlinks.enumerated() {
                            let column = LinkColumn(
                                origin: backlink.origin, property: backlink.property ?? -1,
                                target: found.index)
                            for origin in try rows.origins(row, index) {
                                backlinks[column, default: LinkSum()].add(origin, key)
                            }
                        }
                    }
                    done += rows.count
                    try progress(done)
                }
            } catch let error as RealmFileError where error.kind == .damaged {
                faults.append(error.detail)
            }
        }
        try checkUnchanged()
        for column in Set(links.keys).union(backlinks.keys).sorted() {
            let forward = links[column] ?? LinkSum()
            let backward = backlinks[column] ?? LinkSum()
            guard forward != backward else { continue }
            let name = self.name(column)
            faults.append(
                forward.count == backward.count
                    ? "\(name): \(forward.count) links and their backlinks name different objects"
                    : "\(name): \(forward.count) links, \(backward.count) backlinks")
        }
        return faults
    }

    private func name(_ column: LinkColumn) -> String {
        let origin = classes[column.origin]
        let property =
            origin.properties.indices.contains(column.property)
            ? origin.properties[column.property].name : "?"
        let target = classes.indices.contains(column.target) ? classes[column.target].name : "?"
        return "\(origin.name).\(property) → \(target)"
    }
}

/// The links of one property to the objects of one class.
private struct LinkColumn: Hashable, Comparable {
    let origin: Int
    let property: Int
    let target: Int

    static func < (left: Self, right: Self) -> Bool {
        (left.origin, left.property, left.target) < (right.origin, right.property, right.target)
    }
}

/// A number of links and a checksum that does not depend on their order.
private struct LinkSum: Equatable {
    var count = 0
    private var sum: UInt64 = 0

    mutating func add(_ origin: Int64, _ target: Int64) {
        count += 1
        sum &+= Self.mix(Self.mix(UInt64(bitPattern: origin)) ^ UInt64(bitPattern: target))
    }

    /// Mixes the bits of a value with the finalizer of SplitMix64.
    private static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

extension RealmValue {
    /// Calls `body` with every link in the value, including links in nested collections.
    package func forEachLink(_ body: (RealmLink) throws -> Void) rethrows {
        switch self {
        case .link(let link): try body(link)
        case .list(let elements), .set(let elements):
            for element in elements { try element.forEachLink(body) }
        case .dictionary(let entries), .object(let entries):
            for entry in entries { try entry.value.forEachLink(body) }
        default: break
        }
    }
}
