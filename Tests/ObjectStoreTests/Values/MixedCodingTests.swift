import ColumnStorage
import Testing

@testable import ObjectStore

/// Creates mixed values of every type with nested collections.
struct MixedMaker {
    var random: SplitMix
    /// The possible targets of links.
    var references: [ObjectReference] = []

    init(seed: UInt64) { random = SplitMix(seed: seed) }

    mutating func value(depth: Int = 3) -> Value {
        switch Int.random(in: 0..<(depth > 0 ? 15 : 12), using: &random) {
        case 0: return .null
        case 1: return .bool(.random(using: &random))
        case 2: return .int(.random(in: -3...3, using: &random))
        case 3: return .int(.random(in: .min ... .max, using: &random))
        case 4: return .float(Float(Int.random(in: -8...8, using: &random)) / 4)
        case 5: return .double(Double(Int.random(in: -8...8, using: &random)) / 4)
        case 6:
            return .decimal(DecimalValue("\(Int.random(in: -9...9, using: &random)).50") ?? .zero)
        case 7: return .string(text())
        case 8: return .data(Array(text().utf8))
        case 9: return .date(Timestamp(microseconds: .random(in: -9...9, using: &random)))
        case 10:
            return Bool.random(using: &random)
                ? .uuid(UUIDValue(high: random.next() & 3, low: 0))
                : .objectID(ObjectIDValue(high: random.next() & 3, low: 7))
        case 11: return references.randomElement(using: &random).map(Value.object) ?? .null
        case 12, 13:
            return .list(
                (0..<Int.random(in: 0..<4, using: &random)).map { _ in
                    value(depth: depth - 1)
                })
        default:
            var entries: ValueMap = [:]
            for _ in 0..<Int.random(in: 0..<4, using: &random) {
                entries[text()] = value(depth: depth - 1)
            }
            return .dictionary(entries)
        }
    }

    private mutating func text() -> String {
        let letters = ["a", "b", "\u{0}", "é", "🐕", "z"]
        return (0..<Int.random(in: 0..<4, using: &random)).map { _ in
            letters.randomElement(using: &random) ?? ""
        }.joined()
    }
}

@Suite struct MixedCodingTests {
    @Test func `decoding the bytes of any value gives the same value`() {
        var maker = MixedMaker(seed: 1)
        maker.references = [ObjectReference(table: TableID(3), key: ObjectKey(1 << 40))]
        for _ in 0..<3000 {
            let value = maker.value()
            #expect(MixedCoding.decode(MixedCoding.encode(value)) == value)
        }
        #expect(MixedCoding.encode(.null).isEmpty && MixedCoding.decode([]) == .null)
        let special: [Value] = [
            .double(.infinity), .double(-0.0), .double(.leastNonzeroMagnitude), .float(.infinity),
            .int(.min), .int(.max), .string(""), .data([]), .list([]), .dictionary([:]),
            .dictionary(["": .null]), .list([.null]), .decimal(.notANumber),
        ]
        for value in special { #expect(MixedCoding.decode(MixedCoding.encode(value)) == value) }
    }

    @Test func `any sequence of paths leads to the elements of the value`() {
        var maker = MixedMaker(seed: 4)
        func element(_ value: Value?, at step: NestedCollection.Step) -> Value? {
            switch (value, step) {
            case (.list(let elements)?, .index(let index)):
                elements.indices.contains(index) ? elements[index] : nil
            case (.dictionary(let entries)?, .key(let key)): entries[key.text]
            default: nil
            }
        }
        for _ in 0..<300 {
            let value = Value.list((0..<6).map { _ in maker.value(depth: 4) })
            var trail = MixedTrail(MixedCoding.encode(value))
            var path: [NestedCollection.Step] = []
            for _ in 0..<60 {
                // The next path often shares its beginning with the last one.
                path.removeLast(.random(in: 0...path.count, using: &maker.random))
                var found = path.reduce(value as Value?) { element($0, at: $1) }
                while Int.random(in: 0..<5, using: &maker.random) > 0 {
                    var step = NestedCollection.Step.index(
                        .random(in: -1..<7, using: &maker.random))
                    if case .dictionary(let entries)? = found {
                        let key = entries.inByteOrder.randomElement(using: &maker.random)?.key
                        step = .key(TextKey(key ?? "missing"))
                    }
                    path.append(step)
                    found = element(found, at: step)
                }
                var reader = trail.follow(path)
                #expect(reader?.value() == found, "\(value) at \(path)")
            }
        }
    }

    @Test func `changes of elements give the bytes of the changed value`() {
        var maker = MixedMaker(seed: 5)
        maker.references = [ObjectReference(table: TableID(3), key: ObjectKey(7))]
        /// Changes the collection at the end of a path.
        func change(
            _ value: inout Value, _ path: ArraySlice<NestedCollection.Step>,
            _ body: (inout Value) -> Void
        ) {
            switch (value, path.first) {
            case (.list(var elements), .index(let index)?):
                change(&elements[index], path.dropFirst(), body)
                value = .list(elements)
            case (.dictionary(var entries), .key(let key)?):
                var element = entries[key.text] ?? .null
                change(&element, path.dropFirst(), body)
                entries[key.text] = element
                value = .dictionary(entries)
            default: body(&value)
            }
        }
        for _ in 0..<100 {
            var value = Value.list((0..<6).map { _ in maker.value(depth: 4) })
            var trail = MixedTrail(MixedCoding.encode(value))
            for _ in 0..<40 {
                var path: [NestedCollection.Step] = []
                var found = value
                while Int.random(in: 0..<4, using: &maker.random) > 0 {
                    let (keys, elements) = found.nestedElements
                    let inner = elements.indices.filter {
                        !elements[$0].nestedElements.values.isEmpty
                    }
                    let index = inner.randomElement(using: &maker.random)
                    guard let index else { break }
                    path.append(keys.isEmpty ? .index(index) : .key(TextKey(keys[index])))
                    found = elements[index]
                }
                let new = maker.value(depth: 2)
                trail.keepsLinks = true
                let isMap = if case .dictionary = found { true } else { false }
                let count = found.nestedElements.values.count
                let counted = trail.count(at: path, isMap ? .map : .list)
                let other = trail.count(at: path, isMap ? .list : .map)
                #expect(counted == count && other == nil)
                let low = Int.random(in: 0...count, using: &maker.random)
                let high = min(count, low + Int.random(in: 0...2, using: &maker.random))
                let isRemoval = Int.random(in: 0..<3, using: &maker.random) == 0
                let key =
                    found.nestedElements.keys.randomElement(using: &maker.random) ?? "new"
                let before = MixedCoding.links(in: value)
                if isMap {
                    let name = Bool.random(using: &maker.random) ? key : key + "z"
                    let isSet = trail.set(name, at: path, to: isRemoval ? nil : new)
                    #expect(isSet)
                    change(&value, path[...]) { map in
                        guard case .dictionary(var entries) = map else { return }
                        entries[name] = isRemoval ? nil : new
                        map = .dictionary(entries)
                    }
                } else {
                    let added = isRemoval ? [] : [new, .null]
                    let isReplaced = trail.replace(low..<high, at: path, by: added)
                    #expect(isReplaced)
                    change(&value, path[...]) { list in
                        guard case .list(var elements) = list else { return }
                        elements.replaceSubrange(low..<high, with: added)
                        list = .list(elements)
                    }
                }
                #expect(trail.bytes == MixedCoding.encode(value))
                #expect(!trail.keepsLinks || MixedCoding.links(in: value) == before)
                var reader = trail.follow(path)
                #expect(reader?.value() != nil)
            }
        }
    }

    @Test func `damaged bytes give a value or nil and are never read beyond their end`() {
        var maker = MixedMaker(seed: 2)
        for _ in 0..<3000 {
            var bytes = MixedCoding.encode(maker.value())
            for _ in 0..<Int.random(in: 1...4, using: &maker.random) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &maker.random)
                bytes[index] = UInt8.random(in: 0...255, using: &maker.random)
            }
            _ = MixedCoding.decode(bytes)
            _ = MixedCoding.decode(Array(bytes.prefix(bytes.count / 2)))
            for _ in 0..<4 {
                var trail = MixedTrail(bytes)
                let step = NestedCollection.Step.index(.random(in: 0..<3, using: &maker.random))
                if let count = trail.count(at: [], .list) {
                    let index = min(count, .random(in: 0...3, using: &maker.random))
                    _ = trail.replace(index..<index, at: [], by: [.int(1)])
                    _ = trail.follow([step, step])
                }
                _ = trail.set("a", at: [], to: .string("b"))
                _ = trail.set("a", at: [step], to: nil)
                _ = MixedCoding.decode(trail.bytes)
            }
        }
        let endless = [UInt8](repeating: MixedTag.list.rawValue, count: 100_000)
        #expect(MixedCoding.decode(endless) == .null)
        // A list whose count is four billion elements.
        #expect(
            MixedCoding.decode([MixedTag.list.rawValue] + [UInt8](repeating: 255, count: 8))
                == .null)
    }

    @Test func `sort codes have the order of the values, across all types`() {
        var maker = MixedMaker(seed: 3)
        maker.references = (0..<3).map { ObjectReference(table: TableID($0), key: ObjectKey(5)) }
        let values = (0..<150).map { _ in maker.value(depth: 2) }
        for left in values {
            for right in values {
                let order = ValueOrder.order(left, right)
                #expect(ValueOrder.order(right, left) == -order)
                let codes = (ValueOrder.code(left), ValueOrder.code(right))
                let byCode =
                    codes.0 == codes.1 ? 0 : codes.0.lexicographicallyPrecedes(codes.1) ? -1 : 1
                #expect(order == byCode, "\(left) \(right)")
            }
        }
    }

    @Test func `numbers are equal by value across types, other values only within their type`() {
        let one: [Value] = [.int(1), .float(1), .double(1), .decimal(DecimalValue("1.00")!)]
        for left in one { for right in one { #expect(ValueOrder.isEqual(left, right)) } }
        #expect(ValueOrder.order(.decimal(DecimalValue("0.1")!), .double(0.1)) == -1)
        #expect(ValueOrder.isEqual(.decimal(DecimalValue("0.5")!), .float(0.5)))
        #expect(!ValueOrder.isEqual(.int(.max), .double(0x1p63)))
        #expect(!ValueOrder.isEqual(.int(1), .bool(true)))
        #expect(!ValueOrder.isEqual(.string("a"), .data([97])))
        #expect(!ValueOrder.isEqual(.list([]), .dictionary([:])))
        let ascending: [Value] = [
            .null, .bool(false), .bool(true), .double(.nan), .double(-.infinity), .int(-5),
            .double(0.5), .int(1), .decimal(.infinity), .string(""), .string("a"), .string("b"),
            .data([]),
            .date(Timestamp(microseconds: 0)), .objectID(ObjectIDValue(high: 0, low: 0)),
            .uuid(UUIDValue(high: 0, low: 0)),
            .object(ObjectReference(table: TableID(1), key: ObjectKey(0))), .list([]),
            .list([.int(1)]), .list([.int(1), .null]), .list([.int(2)]), .dictionary([:]),
            .dictionary(["a": .int(1)]), .dictionary(["b": .null]),
        ]
        for (left, right) in zip(ascending, ascending.dropFirst()) {
            #expect(ValueOrder.order(left, right) == -1, "\(left) \(right)")
        }
    }
}

extension MixedCoding {
    /// Returns the number of links in a value.
    fileprivate static func links(in value: Value) -> Int {
        if case .object = value { return 1 }
        return value.nestedElements.values.reduce(0) { $0 + links(in: $1) }
    }
}
