extension RealmFile {
    /// Returns the number of bytes in the nodes of each class, in the order of ``classes``.
    ///
    /// Nodes that cannot be read are not counted.
    package func sizes() -> [Int] {
        let reader = makeReader()
        return classes.map { found in
            var total = 0
            var open = [found.address]
            while let address = open.popLast() {
                // Nodes that cannot be read are not counted here; `check` reports them.
                guard let node = try? reader.node(address) else { continue }
                total += 8 + (node.payload.count + 7) & ~7
                guard node.hasReferences else { continue }
                for index in 0..<node.count {
                    let value = node.int(index)
                    if value != 0, value & 7 == 0, value > 0 { open.append(value) }
                }
            }
            return total
        }
    }
}
