import Glibc
import TestThreads
import Testing

@testable import LMDBStorage
@testable import ObjectStore

/// Changed bytes in stores without a seal, such as stores that were not closed.
///
/// A check reports the change, or the change has no effect: neither on what can be read, nor on later writes.
///
/// `MOONPOOL_CHANGED_BYTES=20000` tests 20000 changes, and three of each byte of the headers.
@Suite struct ChangedByteTests {
    let folder = TemporaryFolder.inMemory()

    private static let chosenCount = DamagedStore.number("MOONPOOL_CHANGED_BYTES")

    /// The ways in which the file of a store without a valid seal comes into being.
    enum Origin: String, CaseIterable {
        /// The process was killed while the redo log was in use.
        case logged
        /// The process was killed while it was writing through the map.
        case mapped
        /// The store was closed, but is too large for a seal.
        case closed
        /// A power failure was followed by a recovery.
        case recovered
    }

    /// Returns the file of a store with values of all types, several versions, free pages and long values.
    private func image(_ origin: Origin) throws -> [UInt8] {
        let path = folder.file("\(origin).moonpool")
        let store = try DamagedStore.open(
            path, schema: HistoryWorld.classes, durability: origin == .mapped ? .memory : .async)
        var world = try HistoryWorld()
        var random = SplitMix(seed: 21)
        for _ in 0..<12 { try world.commit(30, in: store, using: &random) }
        let schema = try store.schema.require("Thing")
        let keys = try store.objects("Thing").keys().array
        func setData(_ size: Int) throws {
            try store.write {
                for (index, key) in keys.prefix(4).enumerated() {
                    let bytes = (0..<size + index).map { UInt8(truncatingIfNeeded: $0 &* 7) }
                    try LiveObject(.store(store), schema, key).set("data", .data(bytes))
                }
            }
        }
        // The list of the pages that the second commit frees has its own pages.
        try setData(280_000)
        try setData(20_000)
        for _ in 0..<4 { try world.commit(10, in: store, using: &random) }
        if origin == .closed { store.close() }
        var bytes = DamagedStore.bytes(path)
        if origin == .recovered {
            let copy = folder.file("copy")
            DamagedStore.write(bytes, to: copy)
            DamagedStore.write(DamagedStore.bytes(path + "-log"), to: copy + "-log")
            // The copy has another inode, as after a restart of the machine.
            #expect(!DamagedStore.isFound(copy))
            bytes = DamagedStore.bytes(copy)
        }
        store.close()
        for offset in FileSeal.offset..<FileSeal.offset + FileSeal.size { bytes[offset] = 0 }
        return bytes
    }

    /// Returns a description of everything that can be read from a store, before and after some writes.
    private func effect(_ path: String) -> String {
        var text = ""
        do {
            let store = try DamagedStore.open(path)
            defer { store.close() }
            try describe(store, into: &text)
            let thing = try store.schema.require("Thing")
            for round in 0..<4 {
                try store.write {
                    for key in try store.objects("Thing").keys().array.prefix(20) {
                        let object = LiveObject(.store(store), thing, key)
                        try object.set("int", .int(Int64(round) * 7))
                        try object.set("string", .string("changed \(round)"))
                        try object.set("data", .data([UInt8](repeating: 3, count: 9_000 * round)))
                        try object.list("ints").append([.int(4)])
                    }
                }
            }
            try store.write {
                for key in try store.objects("Thing").keys().array.prefix(5) {
                    try store.delete(LiveObject(.store(store), thing, key))
                }
            }
            _ = try store.undo()
            try describe(store, into: &text)
        } catch {
            text += "\(error)"
        }
        return text + (DamagedStore.isFound(path) ? "damaged" : "intact")
    }

    private func line(_ value: Value) -> String {
        switch value {
        case .data(let bytes): "\(bytes.count) \(bytes.reduce(0) { $0 &* 31 &+ Int($1) })"
        case .list(let values): "\(values.map(line))"
        case .dictionary(let entries):
            "\(entries.map { "\($0): \(line($1))" }.sorted())"
        default: "\(value)"
        }
    }

    private func describe(_ store: Store, into text: inout String) throws {
        func describe(_ view: StoreView, _ source: ObjectSource) throws {
            text += "version \(view.version)\n"
            for classSchema in view.schema.classes {
                for key in try Results(source, Query(all: classSchema)).keys().array {
                    for property in classSchema.properties {
                        let value = try view.value(property, of: key, in: classSchema)
                        text += "\(key.rawValue) \(property.name) \(line(value))\n"
                    }
                }
            }
        }
        try describe(store.view, .store(store))
        for version in [store.version - 2, store.version - 5] {
            let past = try store.at(version)
            try describe(past, .frozen(past))
        }
        text += "\(try store.versions().map(\.version))\n"
        for part in try store.difference(from: store.version - 5, to: store.version).classes {
            text += "\(part.inserted.map(\.key.rawValue)) \(part.deleted.map(\.key.rawValue))\n"
            for object in part.modified {
                for property in object.properties {
                    text += "\(object.object.key.rawValue) \(property.property.name) "
                    text += "\(line(property.old)) \(line(property.new))\n"
                }
            }
        }
        text += "\(try store.objects("Thing").filtered("int > 5").keys().array)\n"
    }

    /// The bytes of a file that LMDB interprets, by their kind.
    private struct Places {
        /// The first two pages, up to the end of the last field.
        var headers: [Int] = []
        /// Page headers, offsets of nodes, and everything else in the trees of table names and of free pages.
        var structure: [Int] = []
        /// The other bytes of pages that the newest version uses.
        var other: [Int] = []

        init(_ file: [UInt8]) throws {
            let size = 4096
            headers = Array(0..<512) + Array(size..<size + 256)
            let metas = (0..<2).map { index in
                file[index * size..<(index + 1) * size].withUnsafeBytes {
                    PageImage($0).load(144, UInt64.self)
                }
            }
            let newest = metas[1] > metas[0] ? 1 : 0
            func head(_ offset: Int) -> UInt64? {
                file[newest * size..<(newest + 1) * size].withUnsafeBytes {
                    TreeHead(PageImage($0), at: offset).root
                }
            }
            if let root = head(40) { visit(root, file, isPlain: false) }
            if let root = head(88) { visit(root, file, isPlain: false) }
        }

        private mutating func visit(_ number: UInt64, _ file: [UInt8], isPlain: Bool) {
            let start = Int(number) * 4096
            let page = Array(file[start..<start + 4096])
            var runs: [(first: Int, count: Int)] = []
            page.withUnsafeBytes { bytes in
                let image = PageImage(bytes)
                let isLeaf = image.flags == PageImage.Flags.leaf
                var inner = Array(0..<16 + 2 * image.nodeCount)
                for index in 0..<image.nodeCount {
                    guard let node = image.node(index, isLeaf: isLeaf) else { continue }
                    inner += node.range.lowerBound..<node.range.lowerBound + 8
                    if !isLeaf {
                        visit(node.child, file, isPlain: isPlain)
                    } else if node.flags == PageImage.NodeFlags.table {
                        guard let root = TreeHead(image, at: node.data).root else { continue }
                        visit(root, file, isPlain: true)
                    } else if node.flags == PageImage.NodeFlags.big {
                        inner += node.data..<node.data + 8
                        let first = Int(image.load(node.data, UInt64.self))
                        runs.append((first, 1 + (node.dataSize + 15) / 4096))
                    }
                }
                structure += (isPlain ? inner : Array(0..<4096)).map { start + $0 }
                if isPlain { other += Set(0..<4096).subtracting(inner).sorted().map { start + $0 } }
            }
            for run in runs {
                let bytes = run.first * 4096..<(run.first + run.count) * 4096
                if isPlain {
                    structure += bytes.prefix(16)
                    other += bytes.dropFirst(16)
                } else {
                    structure += bytes
                }
            }
        }

        func random(using random: inout SplitMix) -> Int {
            let kind = [headers, structure, other].randomElement(using: &random)!
            return kind.randomElement(using: &random)!
        }
    }

    @Test(.timeLimit(.minutes(60)), arguments: Origin.allCases)
    func `a check detects every changed byte of a store without a seal that has an effect`(
        origin: Origin
    ) throws {
        let base = try image(origin)
        let copy = folder.file("copy")
        DamagedStore.write(base, to: copy)
        #expect(!DamagedStore.isFound(copy))
        DamagedStore.write(base, to: copy)
        let expected = effect(copy)
        let isIntact = expected.hasSuffix("intact")
        #expect(isIntact)
        let places = try Places(base)
        var random = SplitMix(seed: 8)
        var changes: [(offset: Int, mask: UInt8)] = []
        for _ in 0..<(Self.chosenCount ?? RandomSeeds.count(8, of: 20)) {
            let mask = UInt8(Int.random(in: 1...255, using: &random))
            changes.append((places.random(using: &random), mask))
        }
        if Self.chosenCount != nil, origin == .closed {
            for offset in places.headers {
                for mask: UInt8 in [1, 0x10, 0x80] { changes.append((offset, mask)) }
            }
        }
        for (offset, mask) in changes {
            var changed = base
            changed[offset] ^= mask
            DamagedStore.write(changed, to: copy)
            if DamagedStore.isFound(copy) { continue }
            DamagedStore.write(changed, to: copy)
            // The descriptions are too long for a macro.
            let difference = firstDifference(effect(copy), expected)
            #expect(difference == nil, "byte \(offset) ^ \(mask)")
        }
    }

    private func firstDifference(_ text: String, _ expected: String) -> String? {
        if text == expected { return nil }
        let lines = zip(text.split(separator: "\n"), expected.split(separator: "\n"))
        return lines.first { $0 != $1 }.map { "\($0.prefix(200)) instead of \($1.prefix(200))" }
            ?? "another length"
    }

    @Test(arguments: Origin.allCases)
    func `a header with another version is an error`(origin: Origin) throws {
        let base = try image(origin)
        let copy = folder.file("copy")
        for header in 0...1 {
            for difference in [-4, -3, -2, -1, 1, 2, 3, 4] {
                var changed = base
                let field = header * 4096 + 144
                changed[field] = UInt8(truncatingIfNeeded: Int(changed[field]) + difference)
                DamagedStore.write(changed, to: copy)
                #expect(DamagedStore.isFound(copy), "header \(header), \(difference)")
            }
        }
    }
}
