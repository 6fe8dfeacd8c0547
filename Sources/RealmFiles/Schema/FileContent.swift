/// The top node of a version, with the names and the addresses of the tables.
struct FileContent {
    let version: FileHeader.Version
    let logicalSize: Int
    var names: [String] = []
    var tables: [Int64] = []
    var commit: Int?
    var history = RealmFile.History.none

    init(version: FileHeader.Version, logicalSize: Int) {
        self.version = version
        self.logicalSize = logicalSize
    }

    /// Reads the top node of a version.
    ///
    /// `searcher` limits the work of a search that tries many addresses.
    init(
        _ version: FileHeader.Version, _ bytes: FileBytes, _ isRescuing: Bool,
        searcher: NodeReader? = nil
    ) throws {
        self.version = version
        switch version.format {
        case 2...11, 20...24: break
        default:
            throw RealmFileError(
                .unsupportedFormat,
                "Realm file format \(version.format) is not supported: released formats are 2 to 11 "
                    + "and 20 to 24")
        }
        let probe = searcher ?? NodeReader(bytes, end: bytes.count)
        let top = try probe.references(Int64(version.top), atLeast: 3)
        try RealmFileError.require(top.count <= 16, "the top node has \(top.count) elements")
        try RealmFileError.require(
            searcher == nil || top.slot(2) & 1 == 1, "the top node states no size")
        var size = top.tagged(2)
        if size < 24 || size > Int64(bytes.count) {
            try RealmFileError.require(
                isRescuing,
                size > Int64(bytes.count)
                    ? "it should have \(size) bytes and has \(bytes.count); it was cut off"
                    : "its content claims \(size) bytes")
            size = Int64(bytes.count)
        }
        logicalSize = Int(size)
        let reader =
            searcher ?? NodeReader(bytes, end: isRescuing ? bytes.count : logicalSize)
        let limit = bytes.count / 8
        names = try NewTable.names(reader, top.int(0), atMost: limit)
        let list = try reader.references(top.int(1))
        try reader.check(list, atMost: limit)
        tables = list.integers
        try RealmFileError.require(
            names.count >= tables.count, "\(tables.count) tables have \(names.count) names")
        if top.count > 6 { commit = Int(clamping: top.tagged(6)) }
        history = RealmFile.History(rawValue: top.tagged(7)) ?? .none
    }

    /// Searches a damaged file for the top node of the newest commit; returns nil if there is none.
    ///
    /// Copies do not contain commit numbers, so the last top node counts: it is written after everything else.
    init?(searching bytes: FileBytes, format: Int) {
        let version = Self.likelyFormat(format)
        let reader = NodeReader(bytes, end: bytes.count)
        var newest: Self?
        for address in Self.nodes(bytes, counts: 3...12).reversed() {
            let candidate = FileHeader.Version(top: address, format: version)
            // Errors are ignored, because most nodes of this shape are not top nodes.
            guard let content = try? Self(candidate, bytes, true, searcher: reader),
                !content.tables.isEmpty
            else { continue }
            if let newest, newest.commit ?? 0 >= content.commit ?? 0 { continue }
            newest = content
        }
        guard let newest else { return nil }
        self = newest
    }

    /// Searches a damaged file without a top node for its tables, in formats 10 to 24.
    ///
    /// The key of a table is its index in the list of names. If there are several states of a table, the newest one is
    /// used. Returns nil if there are no tables.
    init?(salvaging bytes: FileBytes, format: Int) {
        let version = Self.likelyFormat(format)
        guard version >= 10 else { return nil }
        self.init(version: FileHeader.Version(top: 0, format: version), logicalSize: bytes.count)
        var newest: [Int: (address: Int64, version: Int64)] = [:]
        let reader = NodeReader(bytes, end: bytes.count)
        for address in Self.nodes(bytes, counts: 12...14) {
            // Errors are ignored, because most nodes of this shape are not tables.
            guard let top = try? reader.references(Int64(address), atLeast: 12),
                top.slot(3) & 1 == 1,
                let table = try? NewTable(
                    reader, "", reference: Int64(address), tableIndex: 0, index: 0),
                (try? table.makeClass(reader, [:], { _ in })) != nil
            else { continue }
            let index = Int(table.key & 0xFFFF)
            let contentVersion = top.tagged(6)
            if let known = newest[index], known.version > contentVersion { continue }
            newest[index] = (Int64(address), contentVersion)
        }
        guard let last = newest.keys.max() else { return nil }
        let found = Self.searchNames(bytes)
        tables = (0...last).map { newest[$0]?.address ?? 0 }
        names = (0...last).map { found.indices.contains($0) ? found[$0] : "class_Table_\($0 + 1)" }
    }

    private static func likelyFormat(_ format: Int) -> Int {
        (2...11).contains(format) || (20...24).contains(format) ? format : 24
    }

    /// Returns the addresses of all data that looks like a node of addresses with this number of elements.
    private static func nodes(_ bytes: FileBytes, counts: ClosedRange<UInt8>) -> [Int] {
        stride(from: 24, through: bytes.count - 16, by: 8).filter { address in
            // Errors are ignored, because a page that cannot be decrypted contains no readable nodes.
            guard let header = try? bytes.view(address, 8) else { return false }
            return header[4] & 0xF8 == 0x40 && header[5] == 0 && header[6] == 0
                && counts.contains(header[7])
        }
    }

    /// Returns the longest list of texts that look like names of tables.
    private static func searchNames(_ bytes: FileBytes) -> [String] {
        var best: [String] = []
        let form = ElementForm(.string, isNullable: false)
        let reader = NodeReader(bytes, end: bytes.count)
        for address in stride(from: 24, through: bytes.count - 16, by: 8) {
            guard let header = try? bytes.view(address, 8), header[4] & 0xF8 == 0x08, header[5] == 0
            else { continue }
            let leaf = LeafValues(form, reader, [:])
            // Errors are ignored, because most nodes of this shape contain other texts.
            guard let node = try? reader.node(Int64(address)), node.count > best.count,
                (try? leaf.decode(node, atMost: 65_536)) != nil
            else { continue }
            let names = (0..<leaf.count).map { index -> String in
                if case .string(let text)? = try? leaf.value(index) { text } else { "" }
            }
            let known = names.count { $0.hasPrefix("class_") || ["metadata", "pk"].contains($0) }
            if known * 2 > names.count { best = names }
        }
        return best
    }
}
